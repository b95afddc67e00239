//! Lines as real servers write them.

#![allow(clippy::unwrap_used)]

use super::*;
use proptest::prelude::*;

/// 2026-11-21T20:00:00Z
const AT: i64 = 1_795_291_200_000;

fn entry(format: Format, line: &str) -> Entry<'_> {
    format
        .parse(line.as_bytes())
        .unwrap_or_else(|fault| panic!("{line}: {fault:?}"))
}

/// Time, method, URL, host, status, bytes, referer, user agent.
type Row<'a> = (
    Option<i64>,
    &'a str,
    &'a str,
    Option<&'a str>,
    u16,
    u64,
    Option<&'a str>,
    Option<&'a str>,
);

fn row<'a>(entry: &'a Entry<'_>) -> Row<'a> {
    (
        entry.at_ms,
        &entry.method,
        &entry.url,
        entry.host.as_deref(),
        entry.status,
        entry.bytes,
        entry.referer.as_deref(),
        entry.user_agent.as_deref(),
    )
}

fn assert_rows(format: Format, rows: &[(&str, Row<'_>)]) {
    for (line, expected) in rows {
        assert_eq!(row(&entry(format, line)), *expected, "{line}");
        assert_eq!(Format::detect(line.as_bytes()), Some(format), "{line}");
    }
}

#[test]
fn combined_lines_of_nginx_apache_and_forebay() {
    let agent = Some("Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0");
    assert_rows(
        Format::Combined,
        &[
            // nginx.
            (
                r#"192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] "GET /a?b=c HTTP/1.1" 200 612 "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0""#,
                (
                    Some(AT),
                    "GET",
                    "/a?b=c",
                    None,
                    200,
                    612,
                    Some("https://shop.example/"),
                    agent,
                ),
            ),
            // nginx with "$http_x_forwarded_for" behind.
            (
                r#"::1 - anna [21/Nov/2026:21:00:00 +0100] "HEAD /a\x22b HTTP/2.0" 304 0 "-" "curl/8.5.0" "198.51.100.1""#,
                (
                    Some(AT),
                    "HEAD",
                    "/a\"b",
                    None,
                    304,
                    0,
                    None,
                    Some("curl/8.5.0"),
                ),
            ),
            // nginx logs a raw space and bytes beyond ASCII.
            (
                r#"192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] "GET /a b/\xC3\xA9\xFF HTTP/1.1" 400 157 "-" "-""#,
                (Some(AT), "GET", "/a b/é%FF", None, 400, 157, None, None),
            ),
            // Apache, common.
            (
                r#"192.0.2.7 - - [21/Nov/2026:15:00:00 -0500] "GET /index.html HTTP/1.0" 200 -"#,
                (Some(AT), "GET", "/index.html", None, 200, 0, None, None),
            ),
            // Apache, combined, quotes in the agent.
            (
                r#"192.0.2.7 - "frank [x]" [21/Nov/2026:20:00:00 +0000] "POST /f HTTP/1.1" 302 5 "http://a.example/\"q\"" "say \"hi\" \\ there""#,
                (
                    Some(AT),
                    "POST",
                    "/f",
                    None,
                    302,
                    5,
                    Some("http://a.example/\"q\""),
                    Some(r#"say "hi" \ there"#),
                ),
            ),
            // Apache, vhost_combined.
            (
                r#"shop.example:80 192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "x""#,
                (
                    Some(AT),
                    "GET",
                    "/",
                    Some("shop.example"),
                    200,
                    5,
                    None,
                    Some("x"),
                ),
            ),
            // HTTP/0.9, and an absolute URL as a proxy gets it.
            (
                r#"192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] "GET http://a.example/x" 200 5"#,
                (
                    Some(AT),
                    "GET",
                    "http://a.example/x",
                    None,
                    200,
                    5,
                    None,
                    None,
                ),
            ),
            // A field's control characters would end it when sent.
            (
                r#"- - - [21/Nov/2026:20:00:00 +0000] "GET / HTTP/1.1" 200 6144 "-" "curl/8\x0d\x0aX: y""#,
                (
                    Some(AT),
                    "GET",
                    "/",
                    None,
                    200,
                    6144,
                    None,
                    Some("curl/8  X: y"),
                ),
            ),
        ],
    );
}

#[test]
fn lines_of_squid() {
    assert_rows(
        Format::Squid,
        &[
            (
                "1795291200.603    310 192.0.2.7 TCP_MISS/200 1624 GET http://a.example/x?y - HIER_DIRECT/192.0.2.9 text/html",
                (
                    Some(AT + 293),
                    "GET",
                    "http://a.example/x?y",
                    None,
                    200,
                    1624,
                    None,
                    None,
                ),
            ),
            (
                "1795291200.000      0 2001:db8::7 TCP_MEM_HIT/200 43 GET http://a.example/p.gif anna HIER_NONE/- image/gif",
                (
                    Some(AT),
                    "GET",
                    "http://a.example/p.gif",
                    None,
                    200,
                    43,
                    None,
                    None,
                ),
            ),
            (
                "1795291200.000 -1 192.0.2.7 TCP_MISS_ABORTED/000 0 GET http://a.example/ - HIER_DIRECT/- -",
                (Some(AT), "GET", "http://a.example/", None, 0, 0, None, None),
            ),
            (
                "1795291201.000 1000 192.0.2.7 TCP_TUNNEL/200 3984 CONNECT a.example:443 - HIER_DIRECT/192.0.2.9 -",
                (
                    Some(AT),
                    "CONNECT",
                    "a.example:443",
                    None,
                    200,
                    3984,
                    None,
                    None,
                ),
            ),
        ],
    );
    let line = b"1795291200.000 0 192.0.2.7 NONE_NONE/400 3921 - error:invalid-request - HIER_NONE/- text/html";
    assert_eq!(Format::Squid.parse(line), Err(Fault::NoRequest));
}

#[test]
fn json_lines_of_forebay_caddy_nginx_and_traefik() {
    assert_rows(
        Format::Json,
        &[
            (
                r#"{"time":"2026-11-21T20:00:00.123Z","client":"192.0.2.7","connection":12,"method":"GET","host":"shop.example","target":"/a?b=\"c","protocol":"HTTP/1.1","site":"shop","status":200,"bytes":6144,"duration":0.100042,"first_byte":0.000037,"cache":"hit","cache_reason":null,"upstream":"127.0.0.1:9000","upstream_time":0.000512,"referer":null,"user_agent":"curl/8\u000a"}"#,
                (
                    Some(AT + 23),
                    "GET",
                    "/a?b=\"c",
                    Some("shop.example"),
                    200,
                    6144,
                    None,
                    Some("curl/8 "),
                ),
            ),
            (
                r#"{"level":"info","ts":1795291200.6249,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],"Referer":["http://r.example/"]},"tls":{"resumed":false,"version":772}},"bytes_read":0,"user_id":"","duration":0.0009,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#,
                (
                    Some(AT + 624),
                    "GET",
                    "/a?b",
                    Some("localhost"),
                    200,
                    10_900,
                    Some("http://r.example/"),
                    Some("curl/7.82.0"),
                ),
            ),
            (
                r#"{"time_iso8601":"2026-11-21T21:00:00+01:00","request":"GET /x y HTTP/1.1","status":"404","body_bytes_sent":"153","request_time":"0.002","http_referrer":"-","http_user_agent":"ab"}"#,
                (
                    Some(AT - 2),
                    "GET",
                    "/x y",
                    None,
                    404,
                    153,
                    None,
                    Some("ab"),
                ),
            ),
            (
                r#"{"msec":"1795291200.500","time_local":"21/Nov/2026:20:00:00 +0000","request_method":"GET","uri":"/index.php","request_uri":"/nice?x","http_host":"a.example:81","server_name":"_","status":200,"bytes_sent":700,"body_bytes_sent":500}"#,
                (
                    Some(AT + 500),
                    "GET",
                    "/nice?x",
                    Some("a.example:81"),
                    200,
                    500,
                    None,
                    None,
                ),
            ),
            (
                r#"{"DownstreamContentSize":19,"DownstreamStatus":404,"Duration":63000,"RequestHost":"a.example","RequestMethod":"GET","RequestPath":"/x","StartUTC":"2026-11-21T20:00:00.5Z","time":"2026-11-21T20:00:01Z"}"#,
                (
                    Some(AT + 500),
                    "GET",
                    "/x",
                    Some("a.example"),
                    404,
                    19,
                    None,
                    None,
                ),
            ),
            (
                r#"{"method":"GET","url":"http://a.example/x","status":200}"#,
                (None, "GET", "http://a.example/x", None, 200, 0, None, None),
            ),
        ],
    );
}

#[test]
fn raw_bytes_of_a_url_are_kept() {
    // nginx with `escape=json`.
    let line =
        b"{\"msec\":\"1795291200.5\",\"request\":\"GET /a/\xff\xc3\xa9 HTTP/1.1\",\"status\":400}";
    let read = Format::Json.parse(line).unwrap();
    assert_eq!((&*read.url, read.at_ms), ("/a/%FF\u{e9}", Some(AT + 500)));
    let line = b"c - - [21/Nov/2026:20:00:00 +0000] \"GET /a/\xff\xc3\xa9 HTTP/1.1\" 400 1";
    assert_eq!(Format::Combined.parse(line).unwrap().url, "/a/%FF\u{e9}");
}

#[test]
fn a_line_without_a_request_is_no_error() {
    for (format, line) in [
        (
            Format::Combined,
            r#"192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] "-" 408 0 "-" "-""#,
        ),
        (
            Format::Combined,
            r#"192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] "" 400 0 "-" "-""#,
        ),
        (
            Format::Combined,
            r#"192.0.2.7 - - [21/Nov/2026:20:00:00 +0000] "\x16\x03\x01 \xA5" 400 157 "-" "-""#,
        ),
        (
            Format::Json,
            r#"{"time":"2026-11-21T20:00:00.123Z","method":null,"target":null,"status":400}"#,
        ),
        (Format::Json, r#"{"request":"","status":"400"}"#),
    ] {
        assert_eq!(
            format.parse(line.as_bytes()),
            Err(Fault::NoRequest),
            "{line}"
        );
    }
}

#[test]
fn a_line_that_is_not_of_the_format_says_what_is_missing() {
    for (format, line, part) in [
        (Format::Combined, "hello", "no time in brackets"),
        (
            Format::Combined,
            "a - - [31/Feb/2026:20:00:00 +0000] \"GET / HTTP/1.1\" 200 1",
            "no time",
        ),
        (
            Format::Combined,
            "a - - [21/Nov/2026:20:00:00 +0000] GET /",
            "no request in quotes",
        ),
        (
            Format::Combined,
            "a - - [21/Nov/2026:20:00:00 +0000] \"GET /\\\" 200 1",
            "not closed",
        ),
        (
            Format::Combined,
            "a - - [21/Nov/2026:20:00:00 +0000] \"GET / HTTP/1.1\" ok",
            "no status",
        ),
        (Format::Squid, "hello", "no time in seconds"),
        (Format::Squid, "1.0 x", "no elapsed time"),
        (Format::Squid, "1.0 5 c 200", "no result code"),
        (Format::Squid, "1.0 5 c A/200 7 GET", "ends before the URL"),
        (Format::Json, "{\"a\":", "not a JSON object (EOF"),
        (Format::Json, "[1]", "not a JSON object (invalid type"),
        (Format::Json, "{\"a\":1}", "no key for the method"),
    ] {
        let Err(Fault::Unreadable(reason)) = format.parse(line.as_bytes()) else {
            panic!("{line} was read");
        };
        assert!(reason.contains(part), "{line}: {reason}");
    }
}

fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | 0..0x20 | 0x7f.. => format!("\\x{byte:02X}"),
            _ => char::from(byte).into(),
        })
        .collect()
}

proptest! {
    #[test]
    fn no_line_is_too_strange(line in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::Combined, Format::Squid, Format::Json] {
            let _ = format.parse(&line);
        }
        let _ = Format::detect(&line);
    }

    #[test]
    fn pieces_of_real_lines_in_any_order(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "192.0.2.7", " ", " - ", "[", "[21/Nov/2026:20:00:00 +0000]", "]", "\"", "\\", "\\x", "GET",
                "/a", " HTTP/1.1", "200", "1.5 ", "TCP_MISS/200 ", "{", "}", "\"request\":", "\"method\":", "null",
                ",", "\"uri\":\"/\"", "{\"headers\":{\"Referer\":[", "9e99", "\n", "é",
            ]),
            0..30,
        )
    ) {
        let text = parts.concat();
        for format in [Format::Combined, Format::Squid, Format::Json] {
            let _ = format.parse(text.as_bytes());
        }
    }

    #[test]
    fn a_written_line_reads_back(
        path in "/[ -~é]{0,30}", status in 100u16..600, bytes in any::<u32>(), agent in "[!-~é][ -~é]{0,20}",
        referer in "http://[a-z\"\\\\]{1,10}/",
    ) {
        prop_assume!(agent != "-" && !path.contains(" HTTP/"));
        let line = format!(
            "::1 - - [21/Nov/2026:20:00:00 +0000] \"GET {} HTTP/1.1\" {status} {bytes} \"{}\" \"{}\"",
            escaped(&path), escaped(&referer), escaped(&agent),
        );
        let expected: Row<'_> =
            (Some(AT), "GET", &path, None, status, u64::from(bytes), Some(&referer), Some(&agent));
        let read = entry(Format::Combined, &line);
        prop_assert_eq!(row(&read), expected);
        let json = serde_json::json!({
            "ts": AT as f64 / 1e3, "method": "GET", "uri": path, "status": status, "size": bytes,
            "referer": referer, "user_agent": agent,
        })
        .to_string();
        let read = entry(Format::Json, &json);
        prop_assert_eq!(row(&read), expected);
    }
}
