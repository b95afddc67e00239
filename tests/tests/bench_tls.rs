//! TLS: a certificate that nobody signed is refused in words, and accepted
//! when the user says so; the name in it must be the one that is asked for.

use std::path::PathBuf;

use forebay_tests::site::self_signed;
use forebay_tests::{Bench, Site, SiteConfig};
use tempfile::TempDir;

struct Secure {
    site: Site,
    certificate: PathBuf,
    _directory: TempDir,
}

fn secure(names: &[&str]) -> Secure {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = self_signed(directory.path(), names);
    let site = Site::with(&SiteConfig {
        server: "location / { return 200 $ssl_server_name; }".into(),
        tls: Some((certificate.clone(), key)),
        ..SiteConfig::default()
    });
    Secure {
        site,
        certificate,
        _directory: directory,
    }
}

impl Secure {
    fn load(&self, more: &[&str]) -> Bench {
        let url = self.site.tls_url("shop.example", "/");
        let resolve = format!("shop.example:{}:127.0.0.1", self.site.tls_port());
        Bench::new(&[&url, "--resolve", &resolve, "-n", "20", "-c", "2"]).args(more)
    }
}

#[test]
fn an_unknown_certificate_is_refused_in_one_clear_error() {
    let secure = secure(&["shop.example"]);
    let ended = secure.load(&[]).run().with_status(1);
    ended.saying(&["TLS", "shop.example", "certificate"]);
}

#[test]
fn an_unknown_certificate_is_used_with_insecure() {
    let secure = secure(&["shop.example"]);
    let figures = secure.load(&["--insecure"]).figures();
    assert_eq!(figures.count("succeeded"), 20);
    assert_eq!(figures.count("connects"), 2);
    assert_eq!(
        figures.count("body_bytes"),
        20 * "shop.example".len() as u64,
        "SNI was sent"
    );
    assert!(figures.phase().latency_ms("connect", "min") > 0.0);
}

#[test]
fn a_self_signed_certificate_is_trusted_when_it_is_given() {
    let secure = secure(&["shop.example"]);
    let figures = secure
        .load(&["--cacert", &secure.certificate.display().to_string()])
        .figures();
    assert_eq!(figures.count("succeeded"), 20);
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let secure = secure(&["other.example"]);
    let certificate = secure.certificate.display().to_string();
    let trusted = ["--cacert", &certificate];
    let ended = secure.load(&trusted).run().with_status(1);
    ended.saying(&["TLS", "shop.example", "other.example"]);
    // The user knows the name.
    let figures = secure
        .load(&trusted)
        .args(&["--sni", "other.example"])
        .figures();
    assert_eq!(figures.count("succeeded"), 20);
    assert_eq!(
        figures.count("body_bytes"),
        20 * "other.example".len() as u64
    );
}

#[test]
fn a_wrong_sni_fails() {
    let secure = secure(&["shop.example"]);
    let certificate = secure.certificate.display().to_string();
    let load = secure.load(&["--cacert", &certificate, "--sni", "wrong.example"]);
    load.run().with_status(1).saying(&["TLS", "wrong.example"]);
}

#[test]
fn a_port_that_does_not_speak_tls_is_said() {
    let site = Site::start("");
    let url = format!("https://127.0.0.1:{}/", site.port());
    let ended = Bench::new(&[&url, "-n", "1", "--insecure"])
        .run()
        .with_status(1);
    ended.saying(&["TLS"]);
}

#[test]
fn an_encrypted_connection_for_each_request_is_a_handshake_each() {
    let secure = secure(&["shop.example"]);
    let figures = secure.load(&["--insecure", "--no-keepalive"]).figures();
    assert_eq!(
        (figures.count("succeeded"), figures.count("connects")),
        (20, 20)
    );
    assert_eq!(figures.phase().failed(None), 0);
}
