//! A page in a real browser: its charts draw, its read-outs show what was
//! measured, and its script has no errors.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::process::Command;

use super::html;
use crate::{Report, sample};

/// Waits no longer than this for the browser, in seconds.
const PATIENCE: &str = "90";

/// Moves a pointer over each chart, hides a series, and writes down what came of it.
const VISITOR: &str = r#"<script>
const seen = { errors: window.errors, drawn: 0, empty: 0, read: [], hidden: 0 };
document.querySelectorAll("svg.lines .line").forEach((line) => {
  if (line.getTotalLength() > 50 && line.getBoundingClientRect().width > 50) seen.drawn++; else seen.empty++;
});
document.querySelectorAll("svg.lines").forEach((svg) => {
  const frame = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: frame.left + frame.width * 0.62, clientY: frame.top + 9 }));
  seen.read.push(document.getElementById("read").innerText.replaceAll("\n", " "));
});
document.querySelectorAll(".legend button").forEach((button) => button.click());
seen.hidden = document.querySelectorAll("g.series.hidden").length;
seen.wide = document.documentElement.scrollWidth > innerWidth;
const out = document.body.appendChild(document.createElement("pre"));
out.id = "seen";
out.textContent = "SEEN" + JSON.stringify(seen) + "SEEN";
</script></body>"#;

fn visit(report: &Report) -> serde_json::Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let watch = "<head><script>window.errors = []; window.onerror = (message) => { window.errors.push(message); };</script>";
    let page = html(report)
        .replacen("<head>", watch, 1)
        .replacen("</body>", VISITOR, 1);
    std::fs::write(&file, page).unwrap();
    let output = Command::new("timeout")
        .args([
            PATIENCE,
            "chromium",
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ])
        .args(["--window-size=1280,2000", "--dump-dom"])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("timeout is part of every system");
    let page = String::from_utf8_lossy(&output.stdout);
    let seen = page.split("SEEN").nth(3).or(page.split("SEEN").nth(1));
    let complaint = String::from_utf8_lossy(&output.stderr);
    let seen = seen.unwrap_or_else(|| {
        panic!("no answer from chromium (apt-get install chromium): {complaint}")
    });
    serde_json::from_str(
        &seen
            .replace("&amp;", "&")
            .replace("&lt;", "<")
            .replace("&gt;", ">"),
    )
    .unwrap()
}

#[test]
fn charts_draw_and_tell_their_values() {
    for (report, lines, words) in [
        (sample::single(), 14, ["time: 12 s", "p99", "longest"]),
        (
            sample::ladder(),
            31,
            ["connections: 1,000", "500 connections", "3,200/s"],
        ),
    ] {
        let seen = visit(&report);
        assert_eq!(seen["errors"].as_array().map(Vec::len), Some(0), "{seen}");
        assert_eq!(seen["empty"], 0, "{seen}");
        assert_eq!(seen["drawn"], lines, "{seen}");
        assert_eq!(seen["wide"], false, "wider than the window: {seen}");
        assert!(seen["hidden"].as_u64() > Some(5), "{seen}");
        let read = seen["read"].to_string();
        for word in words {
            assert!(read.contains(word), "{word} is not in {read}");
        }
    }
}
