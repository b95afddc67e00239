//! Applications that die, hang, leak and fork, and a Forebay that dies before them.

use forebay_tests::Forebay;
use forebay_tests::app::{self, descendants, lives, until};
use rustix::process::{Pid, Signal, kill_process};

#[test]
fn one_that_dies_is_started_again_and_its_last_words_are_in_the_log() {
    let forebay = Forebay::start_text(&app::config(&app::serving()));
    let before = forebay.get("/").text();
    assert!(forebay.get("/die").status >= 500);
    forebay.wait_for_output("it is started again");
    let after = forebay.get("/");
    assert_eq!(after.status, 200);
    assert_ne!(after.text(), before);
    forebay.wait_for_output("ended with status 9; it is started again");
    forebay.wait_for_output("printed: dying as asked");
}

#[test]
fn requests_wait_for_the_successor_of_the_only_process() {
    let forebay = Forebay::start_text(&app::config(&app::serving()));
    let pid_of = |answer: &str| -> i32 { answer.split(' ').next().unwrap().parse().unwrap() };
    for _ in 0..3 {
        let before = pid_of(&forebay.get("/").text());
        let mut client = forebay.client();
        client.send_request("GET", "/sleep/0.3", &[], "");
        let pid = Pid::from_raw(before).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
        // One comes when it is gone, the other is under way there.
        let after = forebay.get("/");
        assert_eq!(after.status, 200, "{}", after.text());
        assert_ne!(pid_of(&after.text()), before);
        let under_way = client.read();
        assert_eq!(under_way.status, 200, "{}", under_way.text());
    }
}

#[test]
fn one_that_dies_at_once_is_not_started_in_a_hurry() {
    let lines = app::python("import sys; sys.exit('no database')");
    let lines = lines.replace("backoff = \"100ms\"", "backoff = \"200ms\"");
    let mut forebay = Forebay::start_text(&app::config(&lines));
    forebay.wait_for_output("failures in a row: the next start is in");
    forebay.wait_for_output("ended with status 1 before it was ready");
    forebay.wait_for_output("printed: no database");
    forebay.stop();
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let forebay = Forebay::start_text(&app::config(
        "command = [\"/nonexistent/puma\", \"{socket}\"]\n",
    ));
    forebay.wait_for_output("/nonexistent/puma cannot be run: No such file or directory");
}

#[test]
fn one_that_is_never_ready_is_ended_and_requests_get_503() {
    let lines = app::python("import time; time.sleep(600)");
    let text = app::config(&format!("{lines}start_timeout = \"300ms\"\n"))
        + "[pool.shop]\nqueue_timeout = \"500ms\"\n";
    let forebay = Forebay::start_text(&text);
    let response = forebay.get("/");
    assert_eq!(response.status, 503, "{}", response.text());
    assert!(response.field("retry-after").is_some());
    forebay.wait_for_output("was not ready within 300ms");
}

#[test]
fn a_ready_path_that_fails_keeps_requests_away() {
    // It accepts connections long before it can answer.
    let script = format!(
        "{}\nserver = Server(where, Handler)\nstarted = time.time()\nanswer = Handler.do_GET\n\
         def early(self):\n  \
           if time.time() > started + 0.5: return answer(self)\n  \
           self.send_error(503)\n\
         Handler.do_GET = early\nserver.serve_forever()",
        app::PYTHON
    );
    let lines = format!("{}ready = \"/up\"\n", app::python(&script));
    let forebay = Forebay::start_text(&app::config(&lines));
    let response = forebay.get("/");
    assert_eq!(response.status, 200, "{}", response.text());
}

#[test]
fn one_that_leaks_is_replaced_without_a_failed_request() {
    let script = format!(
        "{}\nhoard = []\nanswer = Handler.do_GET\n\
         def leak(self):\n  hoard.append(b'x' * (4 << 20))\n  answer(self)\n\
         Handler.do_GET = leak\n{}",
        app::PYTHON,
        app::SERVE
    );
    let lines = format!("{}memory = \"100MiB\"\n", app::python(&script));
    let forebay = Forebay::start_text(&app::config(&lines));
    let first = forebay.get("/").text();
    let mut client = forebay.client();
    until("another process answers", || {
        let response = client.get("/");
        assert_eq!(response.status, 200);
        response.text() != first
    });
    forebay.wait_for_output("MiB of memory, more than 100 MiB");
}

#[test]
fn nothing_survives_a_forebay_that_is_killed() {
    // The worst of children: a daemon in a session of its own, both deaf to SIGTERM.
    let script = format!(
        "{}\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
         if os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(600)\n  os._exit(0)\n{}",
        app::PYTHON,
        app::SERVE
    );
    let lines = app::python(&script).replace("stop_timeout = \"2s\"", "stop_timeout = \"300ms\"");
    let mut forebay = Forebay::start_text(&app::config(&format!("{lines}instances = 2\n")));
    assert_eq!(forebay.get("/").status, 200);
    // Of each: the guard, the application, the daemon.
    until("all of them run", || descendants(forebay.pid()).len() == 6);
    let all = descendants(forebay.pid());
    forebay.kill();
    until("none of them lives", || !all.iter().any(|&pid| lives(pid)));
}

#[test]
fn an_application_that_prints_without_end_is_not_held_up() {
    let script = format!(
        "import threading\n{}\n\
         def chatter():\n  \
           while True: sys.stdout.write('x' * 100 + '\\n')\n\
         threading.Thread(target=chatter, daemon=True).start()\n{}",
        app::PYTHON,
        app::SERVE
    );
    let forebay = Forebay::start_text(&app::config(&app::python(&script)));
    for _ in 0..20 {
        assert_eq!(forebay.get("/").status, 200);
    }
}
