//! `forebay top`: a running server on a screen of the terminal, brought up to
//! date each second; without a terminal one frame of it as text.
//!
//! A thread asks the server, so that keys are obeyed while it does not answer.

mod figures;
mod panel;
mod view;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::cli::TopArgs;
use crate::exit::{Failure, Outcome};
use crate::{out, signals};

use super::client::Client;
use figures::{Asker, Seen};
use view::Screen;

/// Between two questions to the server.
const EVERY: Duration = Duration::from_secs(1);
/// How long a key is waited for before the screen is drawn again.
const KEYS: Duration = Duration::from_millis(200);
/// The frame without a terminal: as wide as most, with room for all panels.
const TEXT_SIZE: (u16, u16) = (100, 60);

/// What the thread found: figures, or why there are none.
type Answer = Result<Seen, String>;

/// Runs the command until the user ends it.
///
/// # Errors
/// When the server is not there at the beginning, or the terminal fails.
pub(crate) fn top(args: &TopArgs) -> Outcome {
    let client = Client::of(&args.server)?;
    let address = client.address();
    let mut asker = Asker::new(client);
    let first = asker.ask()?;
    let mut screen = Screen::new(address, first);
    if args.once || !out::is_terminal() {
        screen.make_text();
        return as_text(&screen);
    }
    let failed = |error: io::Error| Failure::message(format_args!("the terminal failed: {error}"));
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let _restored = Restored;
    let (sender, ended) = mpsc::channel();
    signals::watch(sender).map_err(failed)?;
    let (sender, answers) = mpsc::channel();
    let paused = Arc::new(AtomicBool::new(false));
    let asking = Arc::clone(&paused);
    std::thread::Builder::new()
        .name("asker".into())
        .spawn(move || ask_on(asker, &sender, &asking))
        .map_err(failed)?;
    loop {
        terminal
            .draw(|frame| view::draw(frame.buffer_mut(), &screen))
            .map_err(failed)?;
        if event::poll(KEYS).map_err(failed)?
            && let Event::Key(key) = event::read().map_err(failed)?
            && is_end(&mut screen, key)
        {
            return Ok(());
        }
        paused.store(screen.paused, Relaxed);
        take(&mut screen, &answers);
        if ended.try_recv().is_ok() {
            return Ok(());
        }
    }
}

/// Gives the terminal back, whatever ends the command.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn ask_on(mut asker: Asker, to: &Sender<Answer>, paused: &AtomicBool) {
    let mut due = Instant::now() + EVERY;
    loop {
        sleep(due.saturating_duration_since(Instant::now()));
        due = Instant::now() + EVERY;
        if paused.load(Relaxed) {
            continue;
        }
        let answer = asker.ask().map_err(|failure| match failure {
            Failure::Message(text) | Failure::Text(text) | Failure::Usage(text) => text,
            Failure::Said => String::new(),
        });
        if to.send(answer).is_err() {
            return;
        }
    }
}

fn take(screen: &mut Screen, answers: &Receiver<Answer>) {
    for answer in answers.try_iter() {
        match answer {
            // What was on its way when the screen was stopped is left out.
            _ if screen.paused => {}
            Ok(seen) => screen.show(seen),
            Err(why) => screen.fail(why),
        }
    }
}

/// Does what a key says; true: to end.
fn is_end(screen: &mut Screen, key: KeyEvent) -> bool {
    if key.kind == KeyEventKind::Release {
        return false;
    }
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => return true,
        KeyCode::Char('q') | KeyCode::Esc => return true,
        KeyCode::Char('p' | ' ') => screen.paused = !screen.paused,
        KeyCode::Tab | KeyCode::Right => screen.turn(1),
        KeyCode::BackTab | KeyCode::Left => screen.turn(-1),
        KeyCode::Down => screen.scroll(1),
        KeyCode::Up => screen.scroll(-1),
        KeyCode::PageDown => screen.scroll(10),
        KeyCode::PageUp => screen.scroll(-10),
        KeyCode::Char('s') => screen.sort(),
        KeyCode::Char('r') => screen.reverse(),
        _ => {}
    }
    false
}

/// Prints one frame, without what is empty at its end.
fn as_text(screen: &Screen) -> Outcome {
    let (width, height) = TEXT_SIZE;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).map_err(Failure::message)?;
    let frame = terminal
        .draw(|frame| view::draw(frame.buffer_mut(), screen))
        .map_err(Failure::message)?;
    out::line(text(frame.buffer).trim_end());
    Ok(())
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width).max(1);
    let lines = buffer.content.chunks(width).map(|cells| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use ratatui::layout::Rect;
    use serde_json::json;

    fn seen() -> Seen {
        figures::of(
            json!({
                "version": "1.2.3", "uptime_s": 61, "connections": 7, "objects": 12, "draining": false,
                "memory": {"used_bytes": 1 << 20, "limit_bytes": 4 << 20, "resident_bytes": 9 << 20},
                "disk": {"used_bytes": 1 << 30, "limit_bytes": 2_u64 << 30, "objects": 99},
                "pools": [{"name": "app", "servers": [
                    {"server": "quick:1", "failed": false, "active": 0, "requests": 10, "errors": 0, "p50_us": 100, "p99_us": 900},
                    {"server": "slow:1", "failed": true, "active": 3, "requests": 9, "errors": 4, "p50_us": 5_000, "p99_us": 80_000},
                ]}],
            }),
            &json!({"hit_ratio": 0.75, "counters": {"requests": 400, "miss_uri": 90, "miss_stale": 7}}),
            &json!({"until": 100, "samples": 3, "columns": {
                "requests": [10, 20, 40], "hits": [0, 15, 30], "misses": [0, 5, 10], "passes": [0, 0, 0],
                "bytes_out": [0, 0, 1024], "errors": [0, 0, 2], "hit_p99_us": [0, 50, 60], "miss_p99_us": [0, 0, 9_000],
            }}),
            &json!({"objects": [
                {"url": "shop.example/often", "hits": 500, "size_bytes": 2048, "age_s": 5, "tier": "memory"},
                {"url": "shop.example/\u{1b}[2Jlarge", "hits": 3, "size_bytes": 1 << 22, "age_s": 50, "tier": "disk"},
            ]}),
        )
    }

    fn frame(screen: &Screen, width: u16, height: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        view::draw(&mut buffer, screen);
        text(&buffer)
    }

    fn press(screen: &mut Screen, code: KeyCode) -> bool {
        is_end(screen, KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn everything_is_on_a_small_screen() {
        let mut screen = Screen::new("127.0.0.1:8081".into(), seen());
        let text = frame(&screen, 80, 24);
        for words in [
            "1.2.3",
            "127.0.0.1:8081",
            "40 req/s",
            "75.0 %",
            "1.0 MiB of 4.0 MiB",
            "1.0 GiB of 2.0 GiB",
            "shop.example/often",
            "500",
            "q quit",
        ] {
            assert!(text.contains(words), "no {words} in\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        press(&mut screen, KeyCode::Tab);
        assert!(frame(&screen, 80, 24).contains("slow:1"));
        press(&mut screen, KeyCode::Right);
        assert!(frame(&screen, 80, 24).contains("nothing was stored"));
        press(&mut screen, KeyCode::BackTab);
        assert!(frame(&screen, 80, 24).contains("slow:1"));
    }

    #[test]
    fn the_slowest_origin_is_first_and_sorting_changes_the_order() {
        let mut screen = Screen::new("a".into(), seen());
        let order = |screen: &Screen| {
            let text = frame(screen, 80, 24);
            (text.find("slow:1").unwrap(), text.find("quick:1").unwrap())
        };
        press(&mut screen, KeyCode::Tab);
        assert!(order(&screen).0 < order(&screen).1);
        press(&mut screen, KeyCode::Char('r'));
        assert!(order(&screen).0 > order(&screen).1);
        press(&mut screen, KeyCode::Char('r'));
        // By errors, then by requests.
        press(&mut screen, KeyCode::Char('s'));
        press(&mut screen, KeyCode::Char('s'));
        assert!(
            order(&screen).0 > order(&screen).1,
            "{}",
            frame(&screen, 80, 24)
        );
    }

    #[test]
    fn no_size_and_no_lack_of_figures_is_too_small() {
        let empty = figures::of(json!({}), &json!({}), &json!({}), &json!({}));
        for screen in [
            Screen::new("a".into(), seen()),
            Screen::new("a".into(), empty),
        ] {
            for (width, height) in [(1, 1), (20, 5), (80, 10), (200, 60)] {
                frame(&screen, width, height);
            }
        }
    }

    #[test]
    fn a_server_that_went_away_is_said_and_what_was_seen_stays() {
        let mut screen = Screen::new("a".into(), seen());
        screen.fail("nobody listens on a".into());
        let text = frame(&screen, 80, 24);
        assert!(
            text.contains("nobody listens on a") && text.contains("often"),
            "{text}"
        );
        screen.show(seen());
        assert!(!frame(&screen, 80, 24).contains("nobody listens"));
    }

    #[test]
    fn keys_pause_and_end() {
        let mut screen = Screen::new("a".into(), seen());
        assert!(!press(&mut screen, KeyCode::Char('p')) && screen.paused);
        assert!(frame(&screen, 80, 24).contains("PAUSED"));
        assert!(!press(&mut screen, KeyCode::Char('p')) && !screen.paused);
        assert!(press(&mut screen, KeyCode::Char('q')));
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert!(is_end(&mut screen, interrupt));
        assert!(!press(&mut screen, KeyCode::Char('c')));
    }
}
