//! Tests of `perfset serve`: its output, its checks of clients, and its end.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{ChildStderr, Command, Stdio};

use crate::running::{Started, outcome, perfset, repository, run, scratch, testdata};

const SECRET: &str = "a-secret-of-enough-letters";

/// Started server, and the addresses that it printed.
struct Served {
    child: Started,
    err: BufReader<ChildStderr>,
    lines: Vec<String>,
}

impl Served {
    fn start(args: &[&str], lines: usize) -> Self {
        let command = perfset("small-vm", &["serve", "--listen", "127.0.0.1:0", "--interval", "50ms"]);
        Self::run(command, args, lines)
    }

    fn run(mut command: Command, args: &[&str], lines: usize) -> Self {
        let mut child = command.args(args).stderr(Stdio::piped()).spawn().unwrap();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        let shows_past = args.iter().any(|word| word.starts_with("--record"));
        let mut read = || loop {
            let mut line = String::new();
            err.read_line(&mut line).unwrap();
            // This user may have a recorder of the machine.
            if shows_past || !line.starts_with("past ") {
                break line.trim_end().to_owned();
            }
        };
        let lines = (0..lines).map(|_| read()).collect();
        Self { child: Started(child), err, lines }
    }

    /// Returns the server's response to a GET request with this header line.
    fn get(&self, target: &str, header: &str) -> String {
        let page = self.lines.iter().find_map(|line| line.strip_prefix("page     http://")).unwrap();
        let mut stream = TcpStream::connect(page.split('/').next().unwrap()).unwrap();
        let request =
            format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Ends the server by a signal; returns its exit code, and the rest of its standard error.
    fn end(mut self, signal: &str) -> (i32, String) {
        let id = self.child.0.id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill -{signal} {id}")]).status().unwrap().success());
        let mut rest = String::new();
        self.err.read_to_string(&mut rest).unwrap();
        (self.child.0.wait().unwrap().code().unwrap(), rest)
    }
}

#[test]
fn it_prints_where_it_is_and_ends_when_asked() {
    for signal in ["INT", "TERM"] {
        let folder = scratch(&format!("serve-{signal}"));
        let file = folder.join("token");
        fs::write(&file, SECRET).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let served = Served::start(&["--token-file", file.to_str().unwrap()], 3);
        assert!(served.lines[0].ends_with('/') && served.lines[2].starts_with("token    from "));
        assert!(!served.lines.concat().contains(SECRET), "{:?}", served.lines);
        assert!(
            served.lines[1].starts_with("metrics  http://127.0.0.1:")
                && served.lines[1].ends_with("/metrics")
        );
        assert!(served.get("/api/about", "").starts_with("HTTP/1.1 401 "));
        let about = served.get("/api/about", &format!("Authorization: Bearer {SECRET}\r\n"));
        assert!(about.starts_with("HTTP/1.1 200 ") && about.contains("Linux Processor(_Total)"), "{about}");
        assert_eq!(served.end(signal), (0, String::new()), "{signal}");
    }
}

#[test]
fn metrics_are_chosen_and_named() {
    let folder = scratch("serve-query");
    let file = folder.join("paths.txt");
    fs::write(&file, "# one\n/Memory/Available Bytes\n").unwrap();
    let served = Served::start(&["--insecure", "--query", file.to_str().unwrap(), "--prefix", "mine"], 2);
    let page = served.lines.iter().find(|line| line.starts_with("page")).unwrap();
    assert!(!page.contains("token"), "{page}");
    let metrics = served.get("/metrics", "");
    assert!(metrics.contains("\nmine_memory_available_bytes "), "{metrics}");
    served.end("TERM");
    let served = Served::start(&["--insecure", "--profile", "windows_exporter"], 2);
    assert!(served.get("/metrics", "").contains("\nwindows_cpu_time_total{"));
    served.end("TERM");
}

/// Checks that no response to any client contains the command line of a process.
#[test]
fn no_command_lines() {
    let folder = scratch("serve-command-lines");
    let proc = folder.join("proc");
    let mut copy = Command::new("cp");
    copy.args(["-r", "--no-preserve=mode"]).arg(testdata("linux/processes/proc")).arg(&proc);
    assert!(copy.status().unwrap().success());
    fs::write(proc.join("300/cmdline"), "mail\0--password\0se-cret\0").unwrap();
    let file = folder.join("paths.txt");
    fs::write(&file, "/Process V2(*)/*\n/Process(*)/*\n/Linux Process(*)/*\n").unwrap();
    let mut command = perfset("processes", &["serve", "--listen", "127.0.0.1:0", "--interval", "50ms"]);
    command.env("PERFSET_PROC", &proc);
    let served = Served::run(command, &["--insecure", "--query", file.to_str().unwrap()], 2);
    for target in ["/metrics", "/api/countersets/Process%20V2", "/api/about", "/api/countersets"] {
        let response = served.get(target, "");
        assert!(!response.contains("se-cret") && !response.contains("password"), "{target}: {response}");
    }
    let metrics = served.get("/metrics", "");
    served.end("TERM");
    assert!(metrics.contains("process_id=\"300\"") || metrics.contains(":300"), "{metrics}");
}

/// Checks that counter paths of a program which does not run do not end the server.
#[test]
fn metrics_that_are_not_there_yet() {
    let folder = scratch("serve-waiting");
    let (file, token) = (folder.join("paths.txt"), folder.join("token"));
    fs::write(&file, "/Memory/Available Bytes\n/Http Example(*)/*\n").unwrap();
    fs::write(&token, SECRET).unwrap();
    fs::set_permissions(&token, fs::Permissions::from_mode(0o600)).unwrap();
    let (file, token) = (file.to_str().unwrap(), token.to_str().unwrap());
    let served = Served::start(&["--token-file", token, "--query", file], 4);
    let said = r"waiting  \Http Example(*)\*: no such counterset yet".to_owned();
    assert!(served.lines.contains(&said), "{:?}", served.lines);
    let metrics = served.get("/metrics", &format!("Authorization: Bearer {SECRET}\r\n"));
    assert!(metrics.contains("\nperf_memory_available_bytes "), "{metrics}");
    assert!(metrics.contains("_success{counterset=\"Http Example\"} 0\n"), "{metrics}");
    served.end("TERM");
}

#[test]
fn invalid_serve_options_are_reported() {
    let folder = scratch("serve-wrong");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (open, nothing, bad) =
        (file("open", SECRET), file("nothing", "/Memory/X\n"), file("bad", "Memory\n"));
    let other =
        file("other", "\\\\.\\Memory\\Available Bytes\n\\\\elsewhere.example\\Memory\\Available Bytes\n");
    let taken = Served::start(&["--insecure"], 2);
    let page = taken.lines.iter().find_map(|line| line.strip_prefix("page     http://")).unwrap();
    let address = page.trim_end_matches('/').to_owned();
    for (args, code, contains) in [
        (
            &["--listen", address.as_str()][..],
            4,
            format!("error: cannot listen on {address}: Address already in use"),
        ),
        (&["--listen", "here"], 2, "invalid socket address".to_owned()),
        (
            &["--token-file", &open],
            4,
            "the file has mode 644, so other users may open it: run chmod 600".to_owned(),
        ),
        (
            &["--token-file", "/no/such/file"],
            4,
            "cannot use the token in /no/such/file: the token file cannot be read".to_owned(),
        ),
        (&["--token-file", &open, "--insecure"], 2, "cannot be used with".to_owned()),
        (&["--query", "/no/such/file"], 4, "cannot read /no/such/file".to_owned()),
        (&["--query", &bad], 2, "bad:1: \"Memory\" does not begin".to_owned()),
        (&["--query", &other], 4, r"error: \\elsewhere.example\Memory\Available Bytes: ".to_owned()),
        (&["--query", &nothing], 3, "\"Memory\" has no counter \"X\"".to_owned()),
        (&["--prefix", "1x"], 2, "\"1x\" cannot begin the name of a metric".to_owned()),
        (&["--profile", "x"], 2, "invalid value 'x'".to_owned()),
        (
            &["--history", "24h"],
            2,
            "a history of 86400 s needs 86400 samples, one per 1s; 3600 fit: the longest is 3600 s"
                .to_owned(),
        ),
        (&["--history", "2d"], 2, "invalid value '2d'".to_owned()),
    ] {
        let listen = if args.contains(&"--listen") { &[][..] } else { &["--listen", "127.0.0.1:0"] };
        let all = [&["serve"][..], listen, args].concat();
        let (got, out, err) = outcome(perfset("small-vm", &all).output().unwrap());
        assert_eq!((got, out.as_str()), (code, ""), "{args:?}: {err}");
        assert!(err.contains(&contains), "{args:?}: {err}");
        assert!(!err.contains(SECRET), "{err}");
    }
    taken.end("TERM");
}

/// Checks that the guide names every option that the help of the server has.
#[test]
fn every_option_is_in_the_guide() {
    let guide = fs::read_to_string(repository("docs/guides/serve.md")).unwrap();
    let (_, help, _) = run("small-vm", &["serve", "--help"]);
    let options = help.lines().filter_map(|line| line.trim_start().strip_prefix("--")?.split(' ').next());
    for option in options.filter(|option| !["help", "prefix"].contains(option)) {
        assert!(guide.contains(&format!("--{option}")), "--{option}");
    }
}

/// Returns the effective and permitted capabilities of a process, as bits.
fn capabilities(pid: &str) -> [u64; 2] {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    ["CapEff:", "CapPrm:"].map(|name| {
        let set = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(set.trim(), 16).unwrap()
    })
}

#[test]
fn the_right_to_walk_over_tasks_is_given_up_and_no_other() {
    const PERFMON_AND_BPF: u64 = 1 << 38 | 1 << 39;
    let served = Served::start(&["--insecure"], if capabilities("self")[0] == 0 { 2 } else { 3 });
    let tasks = fs::read_dir(format!("/proc/{}/task", served.child.0.id())).unwrap();
    let tasks: Vec<_> = tasks.map(|task| task.unwrap().file_name().into_string().unwrap()).collect();
    assert!(tasks.len() > 1, "{tasks:?}");
    for task in &tasks {
        let has = capabilities(&format!("{}/task/{task}", served.child.0.id()));
        assert_eq!(has, capabilities("self").map(|all| all & !PERFMON_AND_BPF), "{task}");
    }
    assert!(served.get("/api/countersets", "").contains("Process V2"));
    served.end("TERM");
}

/// Checks that a recording is served with a token, because its directory is private, and without metrics.
#[test]
fn a_recording_is_shown() {
    let folder = scratch("serve-recording").join("recording");
    let _ = fs::remove_dir_all(&folder);
    let name = folder.to_str().unwrap();
    assert_eq!(run("small-vm", &["record", "--dir", name, "mem", "cpu", "10ms", "5"]).0, 0);
    let command = perfset("small-vm", &["serve", "--listen", "127.0.0.1:0", "--log", name]);
    let served = Served::run(command, &[], 1);
    let token = served.lines[0].split_once("?token=").unwrap().1.to_owned();
    assert!(served.get("/api/about", "").starts_with("HTTP/1.1 401 "));
    let header = format!("Authorization: Bearer {token}\r\n");
    let get = |target: &str| served.get(target, &header);
    let about = get("/api/about");
    assert!(about.contains("\"log\":[") && about.contains("Each processor"), "{about}");
    let path = "/api/query?path=/Memory/Available+Bytes";
    let newest = get(path);
    assert!(newest.contains("\"status\":\"ok\""), "{newest}");
    // The instants of the command.
    for at in ["-0s", "mark+recorder+stopped", "2200-01-01+00:00"] {
        assert_eq!(get(&format!("{path}&at={at}")).lines().last(), newest.lines().last(), "{at}");
    }
    let early = get(&format!("{path}&at=2000-01-01+00:00"));
    assert!(early.starts_with("HTTP/1.1 404 ") && early.contains("no sample there"), "{early}");
    let bad = get(&format!("{path}&at=yesterday"));
    assert!(bad.starts_with("HTTP/1.1 400 ") && bad.contains("14:03:07"), "{bad}");
    let metrics = get("/metrics");
    assert!(metrics.starts_with("HTTP/1.1 404 ") && metrics.contains("shows a log"), "{metrics}");
    assert_eq!(served.end("TERM").0, 0);
    for (words, code, text) in [
        (&["--log", name, "--query", "x"][..], 2, "--query"),
        (&["--begin", "-1m"], 2, "--log"),
        (&["--log", name, "--begin", "mark other"], 3, "no mark contains"),
        (&["--log", name, "--begin", "2200-01-01 00:00"], 3, "no sample"),
    ] {
        let (found, _, err) = run("small-vm", &[&["serve", "--listen", "127.0.0.1:0"], words].concat());
        assert!(found == code && err.contains(text), "{words:?}: {found} {err}");
    }
}

/// Checks that a server records while it runs, answers from the recording, and ends its recorder.
#[test]
fn it_records_and_knows_the_past() {
    let folder = scratch("serve-record");
    let recording = folder.join("rec");
    let args = ["--record", "--keep", "50MB", "--recording", recording.to_str().unwrap(), "--insecure"];
    let mut served = Served::start(&args, 5);
    // A warning, if root runs the tests, and what the recorder says, come first.
    let past = |lines: &[String]| lines.iter().any(|line| line.starts_with("past     since "));
    while !past(&served.lines) {
        let mut line = String::new();
        assert!(served.err.read_line(&mut line).unwrap() > 0, "{:?}", served.lines);
        served.lines.push(line.trim_end().to_owned());
    }
    let answer = served.get("/api/v1/range?path=/System/Processes&step=1", "");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"last\":["), "{answer}");
    assert!(served.get("/api/v1/query?path=/System/Processes&at=-0s", "").contains("\"status\":\"ok\""));
    assert!(served.get("/api/v1/about", "").contains("\"recording\":["));
    let (code, rest) = served.end("TERM");
    assert_eq!(code, 0, "{rest}");
    // Its recorder was asked to end: it says so, and the directory is free.
    let info = run("small-vm", &["log", "info", recording.to_str().unwrap()]);
    assert!(info.1.contains("recorder stopped"), "{info:?}");
    let again = run("small-vm", &["record", "--status", "--dir", recording.to_str().unwrap()]);
    assert_eq!(again.0, 3, "{again:?}");
    // The values of another machine would stand beside those of now.
    let log = testdata("logs/BasicPerfCounters.blg");
    let wrong = run("small-vm", &["serve", "--recording", log.to_str().unwrap()]);
    assert!(wrong.0 == 3 && wrong.2.contains("perfset serve --log"), "{wrong:?}");
    fs::remove_dir_all(&folder).unwrap();
}

/// Checks that the server shows each machine of a compared log, and that thousands of machines start no threads.
#[test]
fn each_machine_of_a_log_is_compared() {
    let folder = scratch("compared-machines");
    let log = |count: usize| {
        let file = folder.join(format!("{count}.csv"));
        let heads: String = (0..count).map(|n| format!(",\"\\\\m{n}\\System\\Threads\"")).collect();
        let values: String = (0..count).map(|n| format!(",\"{n}\"")).collect();
        let rows: String = (0..3).map(|n| format!("\"11/20/2026 10:00:0{n}.000\"{values}\r\n")).collect();
        fs::write(&file, format!("\"(PDH-CSV 4.0) (UTC)(0)\"{heads}\r\n{rows}")).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let served = Served::start(&["--insecure", "--compare", &log(2)], 2);
    let logs = served.get("/api/v1/logs", "");
    for machine in ["\"machine\":\"m0\"", "\"machine\":\"m1\""] {
        assert!(logs.contains(machine), "{logs}");
    }
    let value = |id: &str| served.get(&format!("/api/v1/query?path=/System/Threads&log={id}"), "");
    assert!(
        value("log-1").contains("\"value\":0") && value("log-2").contains("\"value\":1"),
        "{}",
        value("log-2")
    );
    assert_eq!(served.end("TERM").0, 0);
    let (code, _, err) = run("small-vm", &["serve", "--listen", "127.0.0.1:0", "--compare", &log(17)]);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("17.csv: the log has counters of 17 machines, and the page compares at most 16"),
        "{err}"
    );
}

/// Returns the resident memory of the server's process in bytes.
fn resident(served: &Served) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", served.child.0.id())).unwrap();
    let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    size.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// Checks that logs can be uploaded and compared, and that a large file that is no log costs the server no memory.
#[test]
fn logs_are_compared_and_sent() {
    let log = testdata("logs/BasicPerfCounters.blg");
    let served =
        Served::start(&["--insecure", "--compare", log.to_str().unwrap(), "--upload-max", "20MB"], 2);
    let page = served.lines.iter().find_map(|line| line.strip_prefix("page     http://")).unwrap();
    let address = page.split('/').next().unwrap();
    let send = |method: &str, target: &str, body: &[u8]| {
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nPerfset-Key: none\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let upload = |bytes: &[u8]| {
        let begun = send("POST", "/api/v1/logs?name=a", b"");
        let id = begun.split_once("\"id\":\"").unwrap().1.split('"').next().unwrap().to_owned();
        for (n, piece) in bytes.chunks(1 << 20).enumerate() {
            let answer = send("PUT", &format!("/api/v1/logs/{id}?offset={}", n << 20), piece);
            assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        }
        id
    };
    let logs = served.get("/api/v1/logs", "");
    assert!(
        logs.contains("\"name\":\"BasicPerfCounters.blg\"") && logs.contains("\"most\":20000000"),
        "{logs}"
    );
    let id = upload(&fs::read(&log).unwrap());
    let opened = send("POST", &format!("/api/v1/logs/{id}/open"), b"");
    assert!(opened.contains("\"machine\":\"GEORGIS3\"") && opened.contains("\"damages\":0"), "{opened}");
    let path = "/api/v1/query?path=/Processor(_Total)/%25+Processor+Time";
    let [compared, sent] =
        ["log-1", &id].map(|log| served.get(&format!("{path}&log={log}&at=2013-02-19+18:55:00"), ""));
    let values = |answer: &str| answer.split_once("\"values\"").map(|(_, values)| values.to_owned()).unwrap();
    assert!(sent.contains("\"status\":\"ok\""), "{sent}");
    assert_eq!(values(&compared), values(&sent));
    let before = resident(&served);
    let id = upload(&vec![b'x'; 18 << 20]);
    let grown = resident(&served).saturating_sub(before);
    assert!(grown < 8 << 20, "{grown} bytes of memory for an upload");
    let refused = send("POST", &format!("/api/v1/logs/{id}/open"), b"");
    assert!(refused.starts_with("HTTP/1.1 422 ") && refused.contains("the file is not a log"), "{refused}");
    assert_eq!(served.end("TERM").0, 0);
    // Beyond loopback nobody sends anything, unless that is asked for.
    let command = || perfset("small-vm", &["serve", "--listen", "0.0.0.0:0", "--insecure"]);
    for (args, takes) in [(&[][..], false), (&["--upload-max", "1MB"], true)] {
        let served = Served::run(command(), args, 5);
        let address = served.lines.iter().find_map(|line| line.strip_prefix("metrics  ")).unwrap();
        let port = address.rsplit_once(':').unwrap().1.split('/').next().unwrap();
        let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        stream
            .write_all(b"GET /api/v1/logs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.contains("\"most\":1000000"), takes, "{answer}");
        assert_eq!(answer.contains("\"upload\":null"), !takes, "{answer}");
        served.end("TERM");
    }
    let (code, _, err) = run("small-vm", &["serve", "--compare", "/no/such/log"]);
    assert!(code == 4 && err.contains("/no/such/log"), "{code} {err}");
}
