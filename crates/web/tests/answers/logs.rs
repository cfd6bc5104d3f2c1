//! Tests of several logs of one server, and of logs that clients upload: the protocol, its owners, its limits.

#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset::Window;
use perfset::log::Logs;
use perfset_web::{ServerOptions, UploadOptions};
use serde_json::{Value, json};

use crate::running::recorder::Recorder;
use crate::running::{Answer, Running, SECRET, get, request, until};

/// Runs the check of the log on standard input, as perfset's hidden command does; the server of these tests starts
/// it.
#[test]
#[ignore = "is no test by itself: the servers of these tests run it as the child that checks an upload"]
fn checker() {
    let code = perfset_web::check_log();
    std::process::exit(i32::from(code != std::process::ExitCode::SUCCESS));
}

fn uploads(most: u64) -> UploadOptions {
    let program = std::env::current_exe().unwrap().into_os_string();
    let args = ["--exact", "logs::checker", "--ignored", "--nocapture"].map(OsString::from);
    let parse = |_: &Logs, text: &str| Err(format!("{text} is no time"));
    UploadOptions::new(most, [program].into_iter().chain(args).collect(), Arc::new(parse))
}

fn takes(most: u64) -> impl FnOnce(&mut ServerOptions) {
    move |options| options.uploads = Some(uploads(most))
}

/// Sends a request with the header that pages of other sites cannot send, and returns the response.
fn send(server: &Running, method: &str, target: &str, headers: &str, body: &[u8]) -> Answer {
    let mut bytes = format!(
        "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nPerfset-Key: none\r\n\
         Content-Length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    request(server, &bytes)
}

fn begin(server: &Running, name: &str, headers: &str) -> String {
    let answer = send(server, "POST", &format!("/api/v1/logs?name={name}"), headers, b"");
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// Uploads the bytes of a log in pieces, and returns its id.
fn upload(server: &Running, name: &str, bytes: &[u8], headers: &str) -> String {
    let id = begin(server, name, headers);
    for (n, piece) in bytes.chunks(100_000).enumerate() {
        let target = format!("/api/v1/logs/{id}?offset={}", n * 100_000);
        let answer = send(server, "PUT", &target, headers, piece);
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    id
}

fn open(server: &Running, id: &str, headers: &str) -> Answer {
    send(server, "POST", &format!("/api/v1/logs/{id}/open"), headers, b"")
}

fn windows_log() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/logs/BasicPerfCounters.blg");
    std::fs::read(path).unwrap()
}

fn ids(server: &Running, headers: &[(&str, &str)]) -> Vec<String> {
    let logs = get(server, "/api/v1/logs", headers).json();
    logs["logs"].as_array().unwrap().iter().map(|log| log["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_server_has_several_logs_beside_its_machine() {
    let (own, other) = (Recorder::new("several-own", 10), Recorder::with("several-other", 20, 5, 0));
    let server = Running::start(|options| {
        options.recording = Some(own.served(Window::default()));
        options.compare = vec![("<b>other</b>".to_owned(), other.served(Window::default()))];
    });
    let logs = get(&server, "/api/v1/logs", &[]).json();
    let facts = |log: &Value| {
        ["id", "name", "kind", "state", "machine", "system", "first", "last", "samples", "damages"]
            .map(|name| log[name].clone())
    };
    let got: Vec<_> = logs["logs"].as_array().unwrap().iter().map(facts).collect();
    let name = own.folder.file_name().unwrap().to_str().unwrap();
    let want = [
        [
            json!("recording"),
            json!(name),
            json!("recording"),
            json!("open"),
            json!("web1"),
            json!("Linux 6.1"),
            json!(1000),
            json!(10_000),
            json!(10),
            json!(0),
        ],
        [
            json!("log-1"),
            json!("<b>other</b>"),
            json!("log"),
            json!("open"),
            json!("web1"),
            json!("Linux 6.1"),
            json!(1000),
            json!(20_000),
            json!(20),
            json!(0),
        ],
    ];
    assert_eq!((got, &logs["upload"]), (want.to_vec(), &Value::Null));
    // Stock of tea: 7 now, and 100 more than the second in the logs.
    let stock = |rest: &str| {
        let answer = get(&server, &format!("/api/v1/query?path=/Shop(tea)/Stock{rest}"), &[]);
        answer.json()["values"][0]["value"].as_f64().unwrap()
    };
    let got = ["", "&at=3000", "&log=recording", "&log=log-1", "&log=log-1&at=15000"].map(stock);
    assert_eq!(got, [7.0, 103.0, 110.0, 120.0, 115.0]);
    for (target, status, text) in [
        ("/api/v1/about?log=log-1", 200, "\"log\":[1000,20000]"),
        ("/api/v1/about", 200, "\"recording\":[1000,10000]"),
        ("/api/v1/about?log=nothing", 404, "there is no log \\\"nothing\\\""),
        ("/api/v1/about?log=log-1&log=log-1", 400, "log is there twice"),
        ("/api/v1/countersets?log=log-1&filter=weath", 200, "\"Weather\""),
        ("/api/v1/countersets/Weather?log=log-1", 200, "Drops/sec"),
        ("/api/v1/countersets/Weather", 404, "Weather"),
        ("/api/v1/find?words=stock&log=log-1", 200, "\"counter\":\"Stock\""),
        ("/api/v1/findings?log=log-1", 200, "\"time\":20000"),
        ("/api/v1/range?path=/Shop(tea)/Stock&from=15000&step=1&log=log-1", 200, "\"to\":20000"),
        ("/api/v1/range?path=/Shop(tea)/Stock&from=1000&step=1ms&log=log-1", 400, "step=2ms&log=log-1"),
        ("/api/v1/logs?x=1", 400, "there is no parameter"),
        ("/api/v1/logs/log-1", 200, "\"samples\":20"),
        ("/api/v1/logs/none", 404, "there is no log"),
    ] {
        let answer = get(&server, target, &[]);
        assert_eq!(answer.status, status, "{target}: {}", answer.body);
        assert!(answer.body.contains(text), "{target}: {}", answer.body);
    }
    let mut stream = server.stream("path=/Shop(tea)/Stock&history=3&log=log-1", &[]);
    assert_eq!(stream.event("history")["times"], json!([17_000, 18_000, 19_000]));
    // Such a server takes none.
    let refused = send(&server, "POST", "/api/v1/logs?name=a", "", b"");
    assert!(refused.status == 403 && refused.body.contains("--upload-max"), "{}", refused.body);
}

#[test]
fn a_sent_log_is_shown_until_it_is_removed() {
    let server = Running::start(takes(1_000_000));
    let bytes = windows_log();
    let id = upload(&server, "BasicPerfCounters.blg", &bytes, "");
    let received = get(&server, &format!("/api/v1/logs/{id}"), &[]).json();
    assert_eq!((&received["state"], &received["bytes"]), (&json!("receiving"), &json!(bytes.len())));
    let early = get(&server, &format!("/api/v1/about?log={id}"), &[]);
    assert!(early.status == 409 && early.body.contains("not open yet"), "{}", early.body);
    for _ in 0..2 {
        let opened = open(&server, &id, "");
        assert_eq!(opened.status, 200, "{}", opened.body);
        let opened = opened.json();
        assert_eq!(
            (&opened["kind"], &opened["state"], &opened["name"], &opened["damages"]),
            (&json!("upload"), &json!("open"), &json!("BasicPerfCounters.blg"), &json!(0))
        );
        assert!(opened["samples"].as_u64().unwrap() > 10, "{opened}");
    }
    let about = get(&server, &format!("/api/v1/about?log={id}"), &[]).json();
    assert!(!about["overview"].as_array().unwrap().is_empty(), "{about}");
    let value =
        get(&server, &format!("/api/v1/query?path=/Processor(_Total)/%25+Processor+Time&log={id}"), &[]);
    assert!(value.body.contains("\"status\":\"ok\""), "{}", value.body);
    assert_eq!(send(&server, "PUT", &format!("/api/v1/logs/{id}?offset=0"), "", b"x").status, 409);
    let mut stream =
        server.stream(&format!("path=/Processor(_Total)/%25+Processor+Time&history=60&log={id}"), &[]);
    stream.event("sample");
    assert_eq!(send(&server, "DELETE", &format!("/api/v1/logs/{id}"), "", b"").status, 200);
    assert_eq!(stream.event("end")["error"], "the log was removed");
    for target in [format!("/api/v1/about?log={id}"), format!("/api/v1/logs/{id}")] {
        let gone = get(&server, &target, &[]);
        assert!(gone.status == 404 && gone.body.contains("it was removed"), "{}", gone.body);
    }
    assert_eq!(get(&server, "/api/v1/logs", &[]).json()["upload"]["used"], 0);
}

#[test]
fn recordings_and_texts_are_taken_and_other_files_refused_in_words() {
    let recorder = Recorder::new("sent", 20);
    let server = Running::start(takes(1_000_000));
    let mut files: Vec<_> =
        std::fs::read_dir(&recorder.folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "perfset" || kind == "journal"));
    let recording = std::fs::read(files.iter().min().unwrap()).unwrap();
    let csv = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\Memory\\Pages/sec\"\n\"11/05/2026 10:00:00.000\",\"12.5\"\n\
               \"11/05/2026 10:00:01.000\",\"40\"\n";
    let tsv = csv.replace("CSV", "TSV").replace(',', "\t");
    let tea = "{\"time\":\"2026-11-05T10:00:00Z\",\"path\":\"\\\\Memory\\\\Pages/sec\",\"counterset\":\"Memory\",\
               \"instance\":\"\",\"instance_id\":null,\"counter\":\"Pages/sec\",\"value\":1.5,\"status\":\"ok\",\
               \"raw\":null,\"base\":null,\"type\":\"PERF_COUNTER_RAWCOUNT\",\"unit\":\"/s\",\"mark\":null}\n";
    let mut bomb = Vec::from(&b"SQLite format 3\0"[..]);
    bomb.resize(5_000, 0);
    for (name, bytes, status, text) in [
        ("a.perfset", recording.as_slice(), 200, "\"samples\":7"),
        ("half.perfset", &recording[..recording.len() - 20], 200, "\"state\":\"open\""),
        ("a.csv", csv.as_bytes(), 200, "\"samples\":2"),
        ("a.tsv", tsv.as_bytes(), 200, "\"machine\":\"H\""),
        ("a.jsonl", tea.as_bytes(), 200, "\"samples\":1"),
        ("a.db", &bomb, 422, "SQLite files are not taken here"),
        ("a.txt", b"<script>alert(1)</script>", 422, "the file is not a log"),
        ("empty.csv", &csv.as_bytes()[..csv.find('\n').unwrap()], 422, "cannot be shown"),
        ("cut.blg", &windows_log()[..200], 422, "cannot be shown"),
    ] {
        let id = upload(&server, name, bytes, "");
        let opened = open(&server, &id, "");
        assert_eq!(opened.status, status, "{name}: {}", opened.body);
        assert!(opened.body.contains(text), "{name}: {}", opened.body);
        // One that cannot be shown is removed.
        assert_eq!(
            send(&server, "DELETE", &format!("/api/v1/logs/{id}"), "", b"").status,
            if status == 200 { 200 } else { 404 }
        );
    }
    let empty = begin(&server, "nothing", "");
    assert!(open(&server, &empty, "").body.contains("the file is empty"));
}

/// Checks that a total is among the greatest instances if a log has nothing else, and only then.
#[test]
fn a_log_of_totals_alone_has_greatest_instances() {
    let server = Running::start(takes(1_000_000));
    let range = |instances: &[&str]| {
        let heads: String =
            instances.iter().map(|name| format!(",\"\\\\H\\Processor({name})\\% Processor Time\"")).collect();
        let values = ",\"50\"".repeat(instances.len());
        let csv = format!(
            "\"(PDH-CSV 4.0) (UTC)(0)\"{heads}\n\"11/05/2026 10:00:00.000\"{values}\n\
             \"11/05/2026 10:00:01.000\"{values}\n"
        );
        let id = upload(&server, "a.csv", csv.as_bytes(), "");
        assert_eq!(open(&server, &id, "").status, 200);
        let answer =
            get(&server, &format!("/api/v1/range?path=/Processor(*)/*&top=5&sum=1&step=1&log={id}"), &[]);
        assert_eq!(answer.status, 200, "{}", answer.body);
        let series = answer.json()["series"].as_array().cloned().unwrap_or_default();
        let mut names: Vec<_> =
            series.iter().map(|series| series["instance"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(range(&["_Total"]), ["_Total"]);
    assert!(!range(&["0", "1", "_Total"]).contains(&"_Total".to_owned()));
}

/// Checks that the API's description has every method of uploaded logs, with its parameters and its fields.
#[test]
fn the_description_has_what_is_sent() {
    let server = Running::start(takes(1_000_000));
    let doc = get(&server, "/api/v1/openapi.json", &[]).json();
    let id = begin(&server, "a.blg", "");
    for (method, route, query, body) in [
        ("post", "/logs", "name=a", &b""[..]),
        ("put", "/logs/{id}", "offset=0", &windows_log()),
        ("post", "/logs/{id}/open", "machine=GEORGIS3", b""),
        ("delete", "/logs/{id}", "", b""),
    ] {
        let operation = &doc["paths"][route][method];
        let target = format!("/api/v1{}", route.replace("{id}", &id));
        let unknown = send(&server, &method.to_uppercase(), &format!("{target}?{query}&zzz=1"), "", body);
        assert!(unknown.body.contains("there is no parameter \\\"zzz\\\""), "{route}: {}", unknown.body);
        let answer = send(&server, &method.to_uppercase(), &format!("{target}?{query}"), "", body);
        let status = answer.status.to_string();
        let schema =
            &operation["responses"][status.as_str()]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(schema, "#/components/schemas/Log", "{method} {route} {}", answer.body);
        let described = &doc["components"]["schemas"]["Log"]["properties"];
        let names = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&answer.json()), names(described));
        let parameters = operation["parameters"].as_array().unwrap();
        let in_query: Vec<_> =
            parameters.iter().filter(|one| one["in"] == "query").map(|one| &one["name"]).collect();
        let used: Vec<_> = query.split('=').next().filter(|name| !name.is_empty()).into_iter().collect();
        assert_eq!(in_query, used, "{method} {route}");
    }
}

/// Checks the state of an uploaded log whose check ends in another way than with a report.
#[test]
fn a_check_that_fails_harms_nobody() {
    for (script, status, text) in [
        ("kill -XCPU $$", 422, "takes longer than 20 s"),
        ("kill -KILL $$", 422, "takes longer than 20 s"),
        ("kill -SEGV $$", 422, "needs more than 512 MiB of memory, or fails"),
        ("exit 1", 422, "or fails: exit status: 1"),
        ("echo '<script>'", 500, "cannot be checked"),
        ("head -c 60000 /dev/zero", 500, "cannot be checked"),
        ("echo '{\"error\":\"<b>\",\"memory\":1}'", 422, "cannot be shown: <b>"),
        ("echo '{\"error\":null,\"memory\":600000000}'", 507, "needs 572 MiB"),
    ] {
        let server = Running::start(|options| {
            let checker = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
            options.uploads = Some(UploadOptions { checker, ..uploads(1_000_000) });
        });
        let id = upload(&server, "a.blg", &windows_log(), "");
        let opened = open(&server, &id, "");
        assert_eq!((opened.status, opened.body.contains(text)), (status, true), "{script}: {}", opened.body);
        let stays = get(&server, &format!("/api/v1/logs/{id}"), &[]).status;
        assert_eq!(stays, if status == 422 { 404 } else { 200 }, "{script}");
        assert_eq!(get(&server, "/api/v1/about", &[]).status, 200);
    }
    // A check that goes on ends when the log is removed.
    let server = Running::start(|options| {
        let checker = ["/bin/sleep", "1000"].map(OsString::from).to_vec();
        options.uploads = Some(UploadOptions { checker, ..uploads(1_000_000) });
    });
    let id = upload(&server, "a.blg", &windows_log(), "");
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| open(&server, &id, ""));
        let state = || get(&server, &format!("/api/v1/logs/{id}"), &[]).json()["state"].clone();
        until("the check begins", || state() == "opening");
        assert_eq!(open(&server, &id, "").status, 409);
        assert_eq!(send(&server, "DELETE", &format!("/api/v1/logs/{id}"), "", b"").status, 200);
        let opened = opening.join().unwrap();
        assert!(
            opened.status == 404 && opened.body.contains("removed while it was opened"),
            "{}",
            opened.body
        );
    });
}

#[test]
fn pieces_are_checked_and_wrong_ones_cost_nothing() {
    let server = Running::start(|options| {
        options.uploads =
            Some(UploadOptions { piece_time: Duration::from_millis(300), ..uploads(2_500_000) });
    });
    for (target, status, text) in [
        ("/api/v1/logs", 400, "a log needs a name"),
        ("/api/v1/logs?name=", 400, "a log needs a name"),
        ("/api/v1/logs?name=a&x=1", 400, "there is name"),
        ("/api/v1/logs/x/open", 404, "there is no log"),
        ("/api/v1/about", 405, "this address does not take POST; the header Allow"),
    ] {
        let answer = send(&server, "POST", target, "", b"");
        assert_eq!((answer.status, answer.body.contains(text)), (status, true), "{target}: {}", answer.body);
    }
    let id = begin(&server, "%3Cscript%3E", "");
    let put = |offset: &str, headers: &str, body: &[u8]| {
        let answer = send(&server, "PUT", &format!("/api/v1/logs/{id}?offset={offset}"), headers, body);
        let bytes = get(&server, &format!("/api/v1/logs/{id}"), &[]).json()["bytes"].as_u64().unwrap();
        (answer.status, bytes)
    };
    let piece = vec![7; 1 << 20];
    for (offset, headers, body, want) in [
        ("0", "", &b"abc"[..], (200, 3)),
        ("0", "", b"abc", (200, 3)),
        ("1", "", b"bc", (200, 3)),
        ("1", "", b"xy", (409, 3)),
        ("4", "", b"e", (409, 3)),
        ("2", "", b"cd", (409, 3)),
        ("-1", "", b"e", (400, 3)),
        ("18446744073709551615", "", b"e", (409, 3)),
        ("3", "Origin: http://evil.example\r\n", b"e", (403, 3)),
        ("3", "Sec-Fetch-Site: cross-site\r\n", b"e", (403, 3)),
        ("3", "", &piece, (200, 3 + (1 << 20))),
        ("1048579", "", &piece, (200, 3 + (2 << 20))),
        // More than this server takes.
        ("2097155", "", &piece, (413, 3 + (2 << 20))),
    ] {
        assert_eq!(put(offset, headers, body), want, "{offset} {}", body.len());
    }
    let other = begin(&server, "other", "");
    let full = send(&server, "PUT", &format!("/api/v1/logs/{other}?offset=0"), "", &piece);
    assert!(full.status == 507 && full.body.contains("remove a log first"), "{} {}", full.status, full.body);
    // Half a piece, and then silence: it does not count, and the next one is not kept away.
    let mut slow = server.connect();
    let head = format!(
        "PUT /api/v1/logs/{other}?offset=0 HTTP/1.1\r\nHost: localhost\r\nPerfset-Key: none\r\n\
         Content-Length: 10\r\n\r\nabc"
    );
    slow.write_all(head.as_bytes()).unwrap();
    let target = format!("/api/v1/logs/{other}?offset=0");
    let mut busy = 0;
    until("a slow piece ends", || {
        let answer = send(&server, "PUT", &target, "", b"xyz");
        busy += usize::from(answer.status == 409);
        answer.status == 200
    });
    let bytes = get(&server, &format!("/api/v1/logs/{other}"), &[]).json()["bytes"].as_u64();
    assert_eq!(bytes, Some(3), "{busy}");
    drop(slow);
    // A piece without a length, and one that goes on after it.
    let line = format!("PUT {target} HTTP/1.1\r\nHost: localhost\r\nPerfset-Key: none\r\n");
    for (rest, status) in [
        ("Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 411),
        ("\r\n", 411),
        ("Content-Length: 2\r\nContent-Length: 3\r\n\r\nab", 400),
        ("Content-Length: 1048577\r\n\r\n", 413),
    ] {
        assert_eq!(request(&server, format!("{line}{rest}").as_bytes()).status, status, "{rest}");
    }
}

#[test]
fn a_log_belongs_to_the_login_that_sent_it() {
    let server = Running::start(|options| {
        options.token = Some(SECRET.parse().unwrap());
        options.uploads = Some(uploads(3_000_000));
    });
    let bearer = format!("Bearer {SECRET}");
    let cookie = {
        let page = get(&server, &format!("/?token={SECRET}"), &[]);
        page.header("set-cookie").split(';').next().unwrap().to_owned()
    };
    let log_in = |key: &str| {
        let answer = get(&server, "/api/login", &[("Authorization", &bearer), ("Perfset-Key", key)]);
        answer.json()["key"].as_str().unwrap().to_owned()
    };
    let (one, two) = (log_in(""), log_in(""));
    assert_eq!(log_in(&one), one);
    assert_ne!(one, two);
    let owners = [
        vec![("Authorization", bearer.as_str())],
        vec![("Cookie", cookie.as_str()), ("Perfset-Key", one.as_str())],
        vec![("Cookie", cookie.as_str()), ("Perfset-Key", two.as_str())],
    ];
    let bytes = windows_log();
    let mut logs = Vec::new();
    for owner in &owners {
        let lines: String = owner.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        // The key of `send` is no login's; the second one is.
        let id = upload(&server, "a.blg", &bytes, &lines);
        assert_eq!(open(&server, &id, &lines).status, 200);
        logs.push((id, lines));
    }
    for (n, owner) in owners.iter().enumerate() {
        assert_eq!(ids(&server, owner), [logs[n].0.clone()], "{owner:?}");
        for (m, (id, _)) in logs.iter().enumerate() {
            let want = if n == m { 200 } else { 404 };
            for target in [
                "about?log=",
                "logs/",
                "query?path=/Processor(_Total)/%25+Processor+Time&log=",
                "countersets?log=",
            ] {
                assert_eq!(
                    get(&server, &format!("/api/v1/{target}{id}"), owner).status,
                    want,
                    "{target} {n} {m}"
                );
            }
            if n != m {
                for (method, rest) in [("DELETE", ""), ("PUT", "?offset=0"), ("POST", "/open")] {
                    let target = format!("/api/v1/logs/{id}{rest}");
                    let body: &[u8] = if method == "PUT" { b"x" } else { b"" };
                    let status = send(&server, method, &target, &logs[n].1, body).status;
                    assert_eq!(status, 404, "{method} {n} {m}");
                }
            }
        }
    }
    // Without a login there is nothing.
    assert_eq!(get(&server, "/api/v1/logs", &[("Cookie", &cookie)]).status, 401);
    assert_eq!(
        send(&server, "POST", "/api/v1/logs?name=a", &format!("Cookie: {cookie}\r\n"), b"").status,
        401
    );
    // The oldest login makes room for the newest of too many, and its log goes with it.
    (0..255).for_each(|_| drop(log_in("")));
    let lost = get(&server, "/api/v1/logs", &owners[1]);
    assert_eq!(lost.status, 401);
    assert_eq!(get(&server, "/api/v1/logs", &owners[0]).json()["upload"]["used"], 2 * bytes.len());
}

#[test]
fn a_log_that_nobody_uses_is_removed() {
    let server = Running::start(|options| {
        options.uploads = Some(UploadOptions { idle: Duration::from_millis(1_500), ..uploads(1_000_000) });
    });
    let id = upload(&server, "a.blg", &windows_log(), "");
    assert_eq!(open(&server, &id, "").status, 200);
    let begun = begin(&server, "begun", "");
    let mut stream = server.stream(&format!("path=/Processor(_Total)/%25+Processor+Time&log={id}"), &[]);
    stream.event("sample");
    let start = Instant::now();
    until("the one that was only begun is removed", || !ids(&server, &[]).contains(&begun));
    assert!(start.elapsed() > Duration::from_secs(1));
    std::thread::sleep(Duration::from_secs(2));
    // A stream uses it.
    assert_eq!(ids(&server, &[]), [id.as_str()]);
    drop(stream);
    until("the log is removed", || ids(&server, &[]).is_empty());
}

/// Checks that ten thousand uploads that are only begun keep no other login away, and cost no memory.
#[test]
fn uploads_are_few() {
    let server = Running::start(takes(1_000_000));
    let mut statuses = std::collections::BTreeMap::<u16, usize>::new();
    for _ in 0..10_000 {
        let answer = send(&server, "POST", "/api/v1/logs?name=a", "", b"");
        *statuses.entry(answer.status).or_default() += 1;
    }
    assert_eq!(statuses, [(201, 8), (429, 9_992)].into());
    let first = ids(&server, &[])[0].clone();
    assert_eq!(send(&server, "DELETE", &format!("/api/v1/logs/{first}"), "", b"").status, 200);
    begin(&server, "a", "");
}
