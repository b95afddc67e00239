//! What must hold for every request that the load tester makes of what it read.

/// Panics unless these are the bytes of one request of HTTP/1.1 (RFC 9112 section 3), and nothing
/// in them could pass for a second one.
pub fn is_one_request(bytes: &[u8]) {
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .expect("a head ends");
    let (mut head, body) = (&bytes[..end], &bytes[end + 4..]);
    let mut lines = Vec::new();
    while let Some(cut) = head.windows(2).position(|window| window == b"\r\n") {
        lines.push(&head[..cut]);
        head = &head[cut + 2..];
    }
    lines.push(head);
    for line in &lines {
        let breaks = |byte: &u8| matches!(byte, b'\r' | b'\n' | 0);
        assert!(
            !line.iter().any(breaks),
            "{}",
            String::from_utf8_lossy(line)
        );
    }
    let (first, fields) = lines.split_first().expect("a first line");
    let parts: Vec<&[u8]> = first.split(|&byte| byte == b' ').collect();
    assert!(
        parts.len() == 3 && parts.iter().all(|part| !part.is_empty()) && parts[2] == b"HTTP/1.1",
        "{}",
        String::from_utf8_lossy(first)
    );
    let mut length = None;
    for field in fields {
        let colon = field
            .iter()
            .position(|&byte| byte == b':')
            .expect("a colon");
        let (name, value) = (&field[..colon], &field[colon + 1..]);
        assert!(!name.is_empty() && name.iter().all(|&byte| forebay_http::head::is_token(byte)));
        assert!(!name.eq_ignore_ascii_case(b"transfer-encoding"));
        if name.eq_ignore_ascii_case(b"content-length") {
            let value = std::str::from_utf8(value).expect("digits").trim();
            let before = length.replace(value.parse::<usize>().expect("digits"));
            assert!(before.is_none(), "two lengths");
        }
    }
    assert_eq!(length.unwrap_or(0), body.len(), "the length of the body");
}
