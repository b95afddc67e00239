//! TLS, with a memcached that was built with it and certificates that openssl makes. Where they are
//! not there, this is passed over.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::{Command, Stdio};

use forebay_session_client::{Client, Target, Tls, Trust};
use support::{Memcached, item, store};

fn memcached_has_tls() -> bool {
    let help = Command::new("memcached").arg("--help").output();
    help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("ssl_chain_cert"))
}

#[test]
fn a_store_is_spoken_to_by_tls_if_its_certificate_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
        ])
        .args([
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=store",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ])
        .args(["-keyout", &key, "-out", &certificate])
        .stderr(Stdio::null())
        .status();
    if !memcached_has_tls() || !made.is_ok_and(|status| status.success()) {
        println!("passed over: no memcached with TLS, or no openssl");
        return;
    }
    // It reads them when it is another user already.
    for name in ["key.pem", ""] {
        let path = folder.path().join(name);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, open).unwrap();
    }
    let files = format!("ssl_chain_cert={certificate},ssl_key={key}");
    let memcached = Memcached::with(&["-Z", "-o", &files]).unwrap();
    let address = &memcached.target.address;
    let with = |trust: Trust<'_>| Target {
        tls: Some(Tls::new(address, trust, None).unwrap()),
        ..memcached.target.clone()
    };
    let pem = std::fs::read(&certificate).unwrap();
    for trust in [Trust::These(&pem), Trust::Anyone] {
        let mut client = Client::connect(&with(trust)).unwrap();
        let value = vec![b'v'; 300_000];
        store(&mut client, b"a", item(&value, 5, 0));
        let mut found = Vec::new();
        let seen = client.get(b"a", &mut found).unwrap().unwrap();
        assert!(found == value && seen.flags == 5);
    }
    let error = Client::connect(&with(Trust::System))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("certificate"), "{error}");
    let mut plain = Client::connect(&memcached.target).unwrap();
    assert!(plain.look(b"a").is_err());
}
