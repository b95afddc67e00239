//! Load from several machines, here two agents and a leader on loopback.

use forebay_tests::{Bench, Origin, RunningBench, Site, reply};

/// An agent that follows one leader, and where it waits.
fn agent(more: &[&str]) -> (RunningBench, String) {
    let running = Bench::new(&["agent", "--listen", "127.0.0.1:0", "--once"])
        .args(more)
        .start();
    let address = running.wait_for_line("agent on ");
    (running, address)
}

#[test]
fn counts_of_all_agents_add_up_exactly() {
    let site = Site::start("");
    let (one, first) = agent(&[]);
    let (two, second) = agent(&[]);
    let agents = format!("{first},{second}");
    let load = ["-n", "1001", "-c", "5", "--agents", &agents];
    let figures = Bench::new(&[&site.url("/")]).args(&load).figures();
    let phase = figures.phase();
    assert_eq!(
        (phase.count("completed"), phase.count("succeeded")),
        (1001, 1001)
    );
    assert_eq!(phase.durations(), 1001, "histograms are merged whole");
    assert_eq!(phase.count("connects"), 5);
    assert_eq!(site.log(1001).len(), 1001);
    let machines = figures.0["machines"].as_array().unwrap();
    let shares: Vec<u64> = machines
        .iter()
        .map(|m| m["completed"].as_u64().unwrap())
        .collect();
    assert_eq!(shares.iter().sum::<u64>(), 1001);
    assert!(shares.iter().all(|&share| share > 0), "{shares:?}");
    assert_eq!(
        (&machines[0]["name"], &machines[1]["name"]),
        (&first.into(), &second.into())
    );
    one.wait().ok();
    two.wait().ok();
}

#[test]
fn a_ladder_goes_up_on_all_agents() {
    let site = Site::start("");
    let (_one, first) = agent(&[]);
    let (_two, second) = agent(&[]);
    let agents = format!("{first},{second}");
    let load = ["-n", "100", "-c", "2,6", "--agents", &agents];
    let figures = Bench::new(&[&site.url("/")]).args(&load).figures();
    for (phase, connections) in figures.phases().iter().zip([2, 6]) {
        assert_eq!(phase.count("succeeded"), 100);
        assert_eq!(phase.count("connects"), connections);
    }
}

#[test]
fn agents_get_the_files_that_the_leader_names() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let (_one, first) = agent(&[]);
    let (_two, second) = agent(&[]);
    let agents = format!("{first},{second}");
    let scenario = "[[data]]\nfile = \"users.csv\"\norder = \"per-user\"\n[[flow]]\niterations = 3\n\
                    [[flow.step]]\nname = \"page\"\nurl = \"/${name}\"\n";
    let url = format!("http://{}/", origin.server());
    let load = ["--scenario", "x.toml", &url, "-c", "4", "--agents", &agents];
    let figures = Bench::new(&load)
        .file("x.toml", scenario)
        .file("users.csv", "name\nann\nbob\ncid\ndan\n")
        .figures();
    assert_eq!(figures.phase().label("page"), (12, 0));
    let mut names: Vec<_> = origin
        .requests()
        .into_iter()
        .map(|request| request.target)
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(
        names,
        ["/ann", "/bob", "/cid", "/dan"],
        "each user has a row of its own"
    );
}

#[test]
fn an_agent_that_dies_is_reported_with_its_share() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let (one, first) = agent(&[]);
    let (_two, second) = agent(&[]);
    let agents = format!("{first},{second}");
    let url = format!("http://{}/", origin.server());
    let load = ["-d", "3s", "-c", "4", "--rate", "200", "--agents", &agents];
    let leader = Bench::new(&[&url])
        .args(&load)
        .args(&["--format", "json", "--live", "off"])
        .start();
    // Both have told of at least one interval by then.
    origin.wait_for(300);
    drop(one);
    let figures = leader.wait().ok().printed();
    let machines = figures.0["machines"].as_array().unwrap();
    assert!(machines[0]["lost"].is_string(), "{machines:?}");
    assert!(machines[1]["lost"].is_null(), "{machines:?}");
    let shares: Vec<u64> = machines
        .iter()
        .map(|m| m["completed"].as_u64().unwrap())
        .collect();
    assert!(shares[0] > 0 && shares[1] > shares[0], "{shares:?}");
    assert_eq!(figures.count("completed"), shares[0] + shares[1]);
    assert!(
        figures.warnings().contains(&first),
        "{}",
        figures.warnings()
    );
}

#[test]
fn a_wrong_secret_is_refused() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let url = format!("http://{}/", origin.server());
    for wrong in [None, Some("guess")] {
        let (waiting, address) = agent(&["--secret", "right"]);
        let load = Bench::new(&[&url, "-n", "1", "-c", "1", "--agents", &address]);
        let load = wrong
            .iter()
            .fold(load, |load, word| load.args(&["--agent-secret", word]));
        load.run().with_status(1).saying(&["secret", &address]);
        waiting.wait().ok();
    }
    assert_eq!(origin.count(), 0, "load was sent");
    let (_waiting, address) = agent(&["--secret", "right"]);
    let load = ["-n", "4", "-c", "1", "--agents", &address];
    let bench = Bench::new(&[&url])
        .args(&load)
        .env("FOREBAY_AGENT_SECRET", "right");
    assert_eq!(bench.figures().count("succeeded"), 4);
}

#[test]
fn an_agent_that_is_not_there_is_said_before_any_load() {
    let origin = Origin::fixed(reply(200, &[], "x"));
    let address = format!("127.0.0.1:{}", forebay_tests::site::free_port());
    let url = format!("http://{}/", origin.server());
    let ended = Bench::new(&[&url, "-n", "1", "--agents", &address]).run();
    ended.with_status(1).saying(&[&address, "refused"]);
    assert_eq!(origin.connections(), 0);
}

#[test]
fn an_agent_outlives_words_that_are_none() {
    use std::io::{Read, Write};
    let running = Bench::new(&["agent", "--listen", "127.0.0.1:0"]).start();
    let address = running.wait_for_line("agent on ");
    for words in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"{\"hello\":{}}\n",
        b"\xff\xfe\n",
        b"{",
    ] {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(words).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // It closes the connection, whatever it says before.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let origin = Origin::fixed(reply(200, &[], "x"));
    let url = format!("http://{}/", origin.server());
    let load = ["-n", "4", "-c", "1", "--agents", &address];
    assert_eq!(
        Bench::new(&[&url]).args(&load).figures().count("succeeded"),
        4
    );
}
