//! A headless Chromium, commanded over its pipe: pages are opened, scripts
//! evaluated in them, and what they complain about or load is noted.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// For one answer; the browser's start is slow on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page; ends when dropped.
pub(crate) struct Browser {
    child: Child,
    orders: ChildStdin,
    messages: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// What the page complained about on its console.
    pub(crate) complaints: Vec<String>,
    /// Every URL that was asked for.
    pub(crate) requested: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it with a window of this size.
    pub(crate) fn start(width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().unwrap();
        // It takes orders on descriptor 3 and answers on 4.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg("exec 3<&0 4>&1; exec chromium \"$@\" </dev/null >/dev/null")
            .args(["sh", "--headless", "--no-sandbox", "--disable-gpu"])
            .args(["--disable-background-networking", "--no-first-run"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        let answers = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).unwrap();
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser = Self {
            orders: child.stdin.take().unwrap(),
            child,
            messages,
            session: None,
            last: 0,
            complaints: Vec::new(),
            requested: Vec::new(),
            _profile: profile,
        };
        browser.attach();
        browser.resize(width, height);
        browser
    }

    fn attach(&mut self) {
        let targets = self.call("Target.getTargets", json!({}));
        let targets = targets["targetInfos"].as_array().unwrap();
        let page = targets.iter().find(|target| target["type"] == "page");
        let id = page.expect("a page")["targetId"].clone();
        let attach = json!({ "targetId": id, "flatten": true });
        let attached = self.call("Target.attachToTarget", attach);
        self.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
    }

    /// Makes the page this large, in pixels.
    pub(crate) fn resize(&mut self, width: u32, height: u32) {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
        });
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Opens a page.
    pub(crate) fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({ "url": url }));
    }

    /// The value of an expression; a promise is waited for.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let order =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", order);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown:#}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true on the page.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, expression: &str) {
        let look = format!(
            "new Promise((done) => {{ let left = 300; const look = () => {{
               if ((() => {{ try {{ return {expression}; }} catch {{ return false; }} }})()) done(true);
               else if (left-- > 0) setTimeout(look, 100); else done(false); }}; look(); }})"
        );
        let order = json!({ "expression": look, "awaitPromise": true, "returnByValue": true });
        let deadline = Instant::now() + PATIENCE;
        // The page that was asked may be left meanwhile: then the next one is.
        let seen = loop {
            match self.ask("Runtime.evaluate", order.clone()) {
                Ok(answer) => break answer["result"]["value"].clone(),
                Err(left) if left["code"] == -32000 && Instant::now() < deadline => {}
                Err(error) => panic!("{expression}: {error}"),
            }
        };
        if seen != true {
            let text = self.value("document.body.innerText");
            panic!("never true: {expression}\n{}", text.as_str().unwrap_or(""));
        }
    }

    /// Waits until an element's text has these words.
    #[track_caller]
    pub(crate) fn wait_for_text(&mut self, selector: &str, words: &str) {
        self.wait_for(&format!(
            "document.querySelector({selector:?}).innerText.replaceAll('\\u202f', ' ').includes({words:?})"
        ));
    }

    /// Presses an element.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        self.value(&format!("document.querySelector({selector:?}).click()"));
    }

    /// Fills a field in.
    #[track_caller]
    pub(crate) fn fill(&mut self, selector: &str, text: &str) {
        self.value(&format!(
            "(() => {{ const field = document.querySelector({selector:?}); field.value = {text:?};
             for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {{ bubbles: true }})); }})()"
        ));
    }

    /// Presses a key where the focus is, as a keyboard does.
    pub(crate) fn key(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call(
                "Input.dispatchKeyEvent",
                json!({ "type": kind, "key": key, "code": key }),
            );
        }
    }

    #[track_caller]
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.ask(method, parameters)
            .unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The answer, or the error that the browser gives.
    #[track_caller]
    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.last += 1;
        let mut order = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            order["sessionId"] = json!(session);
        }
        let mut bytes = order.to_string().into_bytes();
        bytes.push(0);
        let missing = "chromium is installed (apt-get install chromium)";
        self.orders.write_all(&bytes).expect(missing);
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).expect(missing);
            if message["id"] == self.last {
                return match &message["error"] {
                    Value::Null => Ok(message["result"].clone()),
                    error => Err(error.clone()),
                };
            }
            self.note(&message);
        }
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        let text = match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap_or("");
                return self.requested.push(url.to_owned());
            }
            Some("Runtime.exceptionThrown") => &parameters["exceptionDetails"],
            Some("Log.entryAdded") => &parameters["entry"],
            Some("Runtime.consoleAPICalled") => &parameters["args"],
            _ => return,
        };
        self.complaints.push(text.to_string());
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // By its own process id; its other processes end with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
