//! What comes out: the table, Markdown, CSV and the page, which is opened in
//! a real browser.

use std::process::Command;

use forebay_tests::{Bench, Ended, Site};
use serde_json::Value;

fn ladder(site: &Site) -> Ended {
    let load = ["-c", "2,5,10", "-d", "1500ms", "--live", "off"];
    let files = [
        "--html",
        "r.html",
        "--csv",
        "r.csv",
        "--markdown",
        "r.md",
        "--json",
        "r.json",
    ];
    Bench::new(&[&site.url("/")])
        .args(&load)
        .args(&files)
        .run()
        .ok()
}

/// Counts what is drawn, and writes it into the page for the dump.
const VISITOR: &str = r#"<script>
const seen = { errors: window.errors, charts: 0, drawn: 0, empty: 0, text: document.body.innerText };
document.querySelectorAll("svg").forEach((svg) => { if (svg.getBoundingClientRect().width > 100) seen.charts++; });
document.querySelectorAll("svg .line").forEach((line) => {
  if (line.getTotalLength() > 10 && line.getBoundingClientRect().width > 10) seen.drawn++; else seen.empty++;
});
const out = document.body.appendChild(document.createElement("pre"));
out.id = "seen";
out.textContent = "SEEN" + btoa(unescape(encodeURIComponent(JSON.stringify(seen)))) + "SEEN";
</script></body>"#;

fn visit(page: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let watch = "<head><script>window.errors = []; window.onerror = (message) => { window.errors.push(message); };</script>";
    let page = page
        .replacen("<head>", watch, 1)
        .replacen("</body>", VISITOR, 1);
    std::fs::write(&file, page).unwrap();
    let output = Command::new("timeout")
        .args([
            "60",
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
        ])
        .args([
            "--disable-background-networking",
            "--window-size=1280,2000",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("timeout is part of every system");
    let dump = String::from_utf8_lossy(&output.stdout);
    let seen = dump
        .split("SEEN")
        .find(|part| part.starts_with("ey"))
        .unwrap_or_else(|| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            panic!("no answer from chromium (apt-get install chromium): {complaint}")
        });
    serde_json::from_slice(&decode(seen)).unwrap()
}

/// Base64, as the visitor wrote it.
fn decode(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let text = text.trim_end_matches('=').as_bytes();
    let decoded = text.chunks(4).flat_map(|four| {
        let bits =
            four.iter().fold(0, |bits, &byte| bits << 6 | value(byte)) << (6 * (4 - four.len()));
        bits.to_be_bytes()[1..four.len()].to_vec()
    });
    decoded.collect()
}

#[test]
fn the_page_of_a_ladder_draws_its_charts_in_a_browser() {
    let site = Site::start("");
    let ended = ladder(&site);
    let page = ended.file("r.html");
    for outside in ["src=\"http", "href=\"http", "@import", "url(http"] {
        assert!(
            !page.contains(outside),
            "{outside}: a page must stand alone"
        );
    }
    let seen = visit(&page);
    assert_eq!(
        seen["errors"].as_array().map(Vec::len),
        Some(0),
        "{}",
        seen["errors"]
    );
    // Throughput and latency over connections, distributions, and each rung over time.
    assert!(seen["charts"].as_u64() >= Some(3), "{}", seen["charts"]);
    assert!(seen["drawn"].as_u64() >= Some(9), "{} lines", seen["drawn"]);
    let text = seen["text"].as_str().unwrap();
    for words in [
        "2 connections",
        "5 connections",
        "10 connections",
        "nginx",
        &site.url("/"),
    ] {
        assert!(text.contains(words), "{words} is not on the page");
    }
}

#[test]
fn all_forms_of_a_result_have_the_same_figures() {
    let site = Site::start("");
    let ended = ladder(&site);
    let figures = ended.figures("r.json");
    let csv = ended.file("r.csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let at = head.iter().position(|name| *name == "succeeded").unwrap();
    let counted: Vec<u64> = lines.map(|line| line[at].parse().unwrap()).collect();
    let expected: Vec<u64> = figures
        .phases()
        .iter()
        .map(|phase| phase.count("succeeded"))
        .collect();
    assert_eq!(counted, expected, "{csv}");
    for text in [ended.file("r.md"), ended.stdout.clone()] {
        for count in &expected {
            assert!(
                text.contains(&thousands(*count)),
                "{count} is not in {text}"
            );
        }
    }
    assert!(ended.file("r.md").contains("| "), "a table");
}

fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[test]
fn every_format_is_printed_when_asked_for() {
    let site = Site::start("");
    let url = site.url("/");
    for (format, part) in [
        ("table", "requests"),
        ("markdown", "|"),
        ("csv", "succeeded,"),
        ("json", "\"phases\""),
    ] {
        let load = ["-n", "20", "-c", "1", "--live", "off", "--format", format];
        let ended = Bench::new(&[&url]).args(&load).run().ok();
        assert!(ended.stdout.contains(part), "{format}: {}", ended.stdout);
        assert_eq!(ended.stderr, "", "{format}");
    }
}

#[test]
fn without_a_terminal_progress_is_plain_lines_on_standard_error() {
    let site = Site::start("");
    let load = [
        "-d", "2500ms", "-c", "1", "--rate", "50", "--live", "lines", "--format", "json",
    ];
    let ended = Bench::new(&[&site.url("/")]).args(&load).run().ok();
    ended.printed();
    assert!(
        !ended.stderr.contains('\u{1b}'),
        "control sequences: {}",
        ended.stderr
    );
    assert!(ended.stderr.lines().count() >= 1, "no progress was shown");
    let off = ["-n", "5", "-c", "1", "--live", "off"];
    assert_eq!(
        Bench::new(&[&site.url("/")]).args(&off).run().ok().stderr,
        ""
    );
}
