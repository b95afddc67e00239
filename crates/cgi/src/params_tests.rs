//! Parameters in their three forms, read back.

use proptest::prelude::*;

use super::*;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn written(form: Form, length: Option<u64>, pairs: &[(&[u8], &[u8])]) -> Result<Vec<u8>, TooLarge> {
    let mut out = Vec::new();
    let mut params = Params::begin(&mut out, form, length);
    for (name, value) in pairs {
        params.pair(name, value);
    }
    params.finish(length.is_some())?;
    Ok(out)
}

fn read_fastcgi(mut bytes: &[u8]) -> Pairs {
    let mut list = Vec::new();
    while let [1, kind, _, _, high, low, 0, 0, rest @ ..] = bytes {
        let (content, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        if *kind == 4 {
            list.extend_from_slice(content);
        }
        bytes = rest;
    }
    let (mut rest, mut pairs) = (&list[..], Vec::new());
    let length = |rest: &mut &[u8]| match **rest {
        [short @ 0..0x80, ref after @ ..] => {
            *rest = after;
            usize::from(short)
        }
        [a, b, c, d, ref after @ ..] => {
            *rest = after;
            (u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff) as usize
        }
        _ => panic!("a length is cut off"),
    };
    while !rest.is_empty() {
        let (name, value) = (length(&mut rest), length(&mut rest));
        pairs.push((rest[..name].to_vec(), rest[name..name + value].to_vec()));
        rest = &rest[name + value..];
    }
    pairs
}

fn read_scgi(bytes: &[u8]) -> Pairs {
    let text = bytes.iter().position(|&byte| byte == b':').unwrap();
    let length: usize = std::str::from_utf8(&bytes[..text])
        .unwrap()
        .parse()
        .unwrap();
    let list = &bytes[text + 1..text + 1 + length];
    assert_eq!(&bytes[text + 1 + length..], b",");
    let mut words = list.split(|&byte| byte == 0);
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        pairs.push((name.to_vec(), value.to_vec()));
    }
    pairs
}

fn read_uwsgi(bytes: &[u8]) -> Pairs {
    assert_eq!((bytes[0], bytes[3]), (0, 0));
    assert_eq!(
        usize::from(u16::from_le_bytes([bytes[1], bytes[2]])),
        bytes.len() - 4
    );
    let (mut rest, mut words) = (&bytes[4..], Vec::new());
    while let [low, high, after @ ..] = rest {
        let (word, after) = after.split_at(usize::from(u16::from_le_bytes([*low, *high])));
        words.push(word.to_vec());
        rest = after;
    }
    words
        .chunks(2)
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect()
}

#[test]
fn the_examples_of_the_scgi_specification() {
    let pairs: [(&[u8], &[u8]); 2] = [
        (b"REQUEST_METHOD", b"POST"),
        (b"REQUEST_URI", b"/deepthought"),
    ];
    assert_eq!(
        written(Form::Scgi, Some(27), &pairs).unwrap(),
        b"70:CONTENT_LENGTH\x0027\0SCGI\x001\0REQUEST_METHOD\0POST\0REQUEST_URI\0/deepthought\0,"
    );
}

#[test]
fn fastcgi_ends_a_request_without_body_at_once() {
    let form = Form::FastCgi { keep: true };
    let none = written(form, None, &[(b"A", b"b")]).unwrap();
    assert!(none.ends_with(&[1, 4, 0, 1, 0, 0, 0, 0, 1, 5, 0, 1, 0, 0, 0, 0]));
    let some = written(form, Some(3), &[(b"A", b"b")]).unwrap();
    assert!(some.ends_with(&[1, 1, b'A', b'b', 1, 4, 0, 1, 0, 0, 0, 0]));
}

#[test]
fn fields_are_named_as_rfc_3875_has_it_and_joined() {
    let mut out = Vec::new();
    let mut params = Params::begin(&mut out, Form::Scgi, None);
    params.field(b"x-Two-Words", [&b"a"[..], b"b"].into_iter(), b", ");
    params.joined(b"SCRIPT_FILENAME", &[b"/srv", b"/a.php"]);
    params.finish(false).unwrap();
    let pairs = read_scgi(&out);
    assert_eq!(pairs[2], (b"HTTP_X_TWO_WORDS".to_vec(), b"a, b".to_vec()));
    assert_eq!(
        pairs[3],
        (b"SCRIPT_FILENAME".to_vec(), b"/srv/a.php".to_vec())
    );
}

#[test]
fn what_a_protocol_cannot_carry_is_refused() {
    let long = vec![b'x'; 70_000];
    assert_eq!(written(Form::Uwsgi, None, &[(b"A", &long)]), Err(TooLarge));
    let half = vec![b'x'; 40_000];
    assert_eq!(
        written(Form::Uwsgi, None, &[(b"A", &half), (b"B", &half)]),
        Err(TooLarge)
    );
    assert_eq!(
        written(Form::Scgi, None, &[(b"A", b"a\0HTTPS\0on")]),
        Err(TooLarge)
    );
    assert!(written(Form::FastCgi { keep: false }, None, &[(b"A", &long)]).is_ok());
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        pairs in prop::collection::vec(("[A-Z_]{1,200}", prop::collection::vec(1..=255_u8, 0..3000)), 0..20),
        length in prop::option::of(any::<u64>()),
    ) {
        let given: Vec<(&[u8], &[u8])> =
            pairs.iter().map(|(name, value)| (name.as_bytes(), &value[..])).collect();
        let expected: Pairs = given.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        let fastcgi = written(Form::FastCgi { keep: true }, length, &given).unwrap();
        prop_assert_eq!(&read_fastcgi(&fastcgi)[1..], &expected[..]);
        let scgi = written(Form::Scgi, length, &given).unwrap();
        prop_assert_eq!(&read_scgi(&scgi)[2..], &expected[..]);
        if let Ok(uwsgi) = written(Form::Uwsgi, length, &given) {
            prop_assert_eq!(&read_uwsgi(&uwsgi)[1..], &expected[..]);
        }
    }
}
