//! Tests of the server's responses on loopback, with scripted counters.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use perfset::{Mark, NoValue};
use perfset_web::{ServeError, Server, ServerOptions};

use crate::running::{Running, SECRET, get, request, shop, until};

#[test]
fn every_route_answers() {
    let server = Running::start(|_| {});
    server.provider.with(|script| script.not_shown = vec!["3 rows of others".into()]);
    for (target, status, content_type, contains) in [
        ("/", 200, "text/html; charset=utf-8", "<!doctype html>"),
        ("/assets/main.js", 200, "text/javascript; charset=utf-8", "import"),
        ("/assets/page.js", 200, "text/javascript; charset=utf-8", "const module_"),
        ("/assets/none.js", 404, "application/json", "there is no file \\\"none.js\\\""),
        ("/healthz", 200, "text/plain; charset=utf-8", "ok\n"),
        (
            "/metrics",
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            "\nperf_shop_orders_total{instance_name=\"tea\"} ",
        ),
        ("/api/about", 200, "application/json", "\"interval_ms\":20"),
        ("/api/about", 200, "application/json", "\"not_shown\":[\"3 rows of others\"]"),
        ("/api/countersets", 200, "application/json", "{\"name\":\"Shop\",\"guid\":"),
        ("/api/countersets?filter=SHO", 200, "application/json", "\"counters\":2"),
        ("/api/countersets?filter=none", 200, "application/json", "{\"countersets\":[]}"),
        ("/api/countersets/shop", 200, "application/json", "\"instance_names\":[{\"name\":\"tea\",\"id\":3}"),
        (
            "/api/countersets/00000000-0000-0000-0000-000000000005",
            200,
            "application/json",
            "\"name\":\"Shop\"",
        ),
        ("/api/countersets/Shopp", 404, "application/json", "\"hints\":[\"nearest: Shop\"]"),
        ("/api/find?words=orders+SHOP", 200, "application/json", "\"path\":\"\\\\Shop(*)\\\\Orders/sec\""),
        (
            "/api/find?words=stok",
            200,
            "application/json",
            "\"unknown\":[{\"word\":\"stok\",\"nearest\":[\"stock\"]}]",
        ),
        ("/api/find", 400, "application/json", "words are missing"),
        ("/api/find?x=1", 400, "application/json", "there is no parameter \\\"x\\\""),
        ("/api/query?path=/Shop(tea)/Stock", 200, "application/json", "\"value\":7.0,\"status\":\"ok\""),
        ("/api/query?path=/Shop(none)/Stock", 200, "application/json", "\"status\":\"no_instance\""),
        ("/api/query", 400, "application/json", "no path is asked"),
        ("/api/query?path=/Shopp(tea)/Stock", 404, "application/json", "\"hints\":[\"nearest: Shop\"]"),
        ("/api/query?path=/Shop(tea)/Stok", 404, "application/json", "nearest: Stock"),
        ("/api/query?path=/Shop/Stock", 400, "application/json", "all of them"),
        ("/api/query?path=//elsewhere.invalid/Shop(tea)/Stock", 400, "application/json", "another machine"),
        ("/api/stream?path=/Shop(tea)/Stok", 404, "application/json", "nearest: Stock"),
        ("/api/stream?path=/Shop(tea)/Stock&top=x", 400, "application/json", "top is a whole number"),
        ("/nothing", 404, "application/json", "there is nothing at /nothing"),
    ] {
        let answer = get(&server, target, &[]);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (status, content_type),
            "{target}: {}",
            answer.body
        );
        assert!(answer.body.contains(contains), "{target}: {}", answer.body);
        assert!(
            answer.header("content-security-policy").starts_with("default-src 'none'; script-src 'self';"),
            "{target}"
        );
        for (name, want) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("access-control-allow-origin", ""),
        ] {
            assert_eq!(answer.header(name), want, "{target}: {name}");
        }
        if content_type == "application/json" {
            let json: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(status >= 400, json.get("error").is_some(), "{target}");
        }
    }
}

#[test]
fn rates_take_two_readings() {
    let server = Running::start(|_| {});
    let answer = get(&server, "/api/query?path=/Shop(*)/Orders/sec&path=/Shop(tea)/Stock", &[]);
    let values = answer.json()["values"].clone();
    let shown = |v: &serde_json::Value| format!("{} {}", v["path"], v["status"]);
    let shown: Vec<_> = values.as_array().unwrap().iter().map(shown).collect();
    assert_eq!(shown.len(), 3, "{values}");
    assert!(shown.iter().all(|text| text.ends_with("\"ok\"")), "{values}");
}

#[test]
fn metrics_have_the_format_that_is_wanted() {
    let server = Running::start(|_| {});
    let answer = get(&server, "/metrics", &[("Accept", "application/openmetrics-text; version=1.0.0")]);
    assert_eq!(answer.header("content-type"), "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert!(answer.body.ends_with("# EOF\n"));
}

#[test]
fn invalid_requests_get_the_right_status() {
    let server = Running::start(|_| {});
    let long = format!("GET /?{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "x".repeat(20_000));
    let headers = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "A: b\r\n".repeat(200));
    for (text, status) in [
        ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        ("DELETE /api/about HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        ("POST /api/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", 413),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", 400),
        ("GET /api/about HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n", 403),
        (long.as_str(), 414),
        (headers.as_str(), 431),
        ("GET /assets/..%2f..%2fCargo.toml HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("nonsense\r\n\r\n", 400),
    ] {
        assert_eq!(request(&server, text.as_bytes()).status, status, "{text:.60}");
    }
    let head = request(&server, b"HEAD /api/about HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
}

/// Routes of the API that return data of the machine.
const DATA: [&str; 10] = [
    "/metrics",
    "/api/about",
    "/api/countersets",
    "/api/countersets/shop",
    "/api/find?words=orders",
    "/api/findings",
    "/api/query?path=/Shop(tea)/Stock",
    "/api/stream?path=/Shop(tea)/Stock",
    "/api/table?counterset=Shop",
    "/api/login",
];

#[test]
fn a_token_opens() {
    let server = Running::start(|options| options.token = Some(SECRET.parse().unwrap()));
    let bearer = format!("Bearer {SECRET}");
    for (target, headers, want) in [
        ("/", &[][..], 401),
        ("/metrics", &[], 401),
        ("/api/about", &[("Authorization", "Bearer aaaaaaaaaaaaaaaaaaaaaaaa")], 401),
        ("/api/about", &[("Authorization", bearer.as_str())], 200),
        ("/?token=wrong", &[], 401),
        ("/healthz", &[], 200),
    ] {
        let answer = get(&server, target, headers);
        assert_eq!(answer.status, want, "{target} {headers:?}");
        assert!(!answer.text.contains(SECRET), "{target}");
        assert_eq!(answer.header("www-authenticate"), if want == 401 { "Bearer" } else { "" });
        assert_eq!(answer.header("set-cookie"), "", "{target}");
    }
    for target in DATA {
        assert_eq!(get(&server, target, &[]).status, 401, "{target}");
        assert_eq!(get(&server, target, &[("Authorization", &bearer)]).status, 200, "{target}");
    }
    assert!(!format!("{server:?}").contains(SECRET));
}

/// Logs a browser in as the page does, and returns its cookie and its key.
fn log_in(server: &Running) -> (String, String) {
    let page = get(server, &format!("/?token={SECRET}"), &[("Accept", "text/html")]);
    assert_eq!((page.status, page.header("location")), (200, ""));
    let set = page.header("set-cookie").to_owned();
    // A browser derives the path from the page's address, also below a path of a proxy.
    assert!(set.ends_with("; HttpOnly; SameSite=Strict") && !set.contains("Path="), "{set}");
    let cookie = set.split(';').next().unwrap().to_owned();
    let answer = get(server, "/api/login", &[("Authorization", &format!("Bearer {SECRET}"))]);
    assert_eq!(answer.header("set-cookie"), "");
    let key = answer.json()["key"].as_str().unwrap().to_owned();
    for text in [&page.text, &answer.text] {
        assert!(!text.contains(SECRET), "the token is in no answer");
    }
    assert!(!page.text.contains(&key) && !cookie.contains(&key));
    (cookie, key)
}

#[test]
fn a_browser_reads_with_both_numbers_of_its_login() {
    let server = Running::start(|options| options.token = Some(SECRET.parse().unwrap()));
    let (cookie, key) = log_in(&server);
    for target in DATA {
        assert_eq!(
            get(&server, target, &[("Cookie", &cookie), ("Perfset-Key", &key)]).status,
            200,
            "{target}"
        );
    }
    for target in ["/", "/assets/main.js"] {
        assert_eq!(get(&server, target, &[("Cookie", &cookie)]).status, 200, "{target}");
        assert_eq!(get(&server, target, &[]).status, 401, "{target}");
    }
    let page = get(&server, "/", &[("Accept", "text/html,*/*;q=0.8")]);
    assert_eq!((page.status, page.header("content-type")), (401, "text/html; charset=utf-8"));
    assert!(page.body.contains("that <code>perfset serve</code> printed"), "{}", page.text);
    // A restarted server with the same token has other cookies and keys.
    let again = Running::start(|options| options.token = Some(SECRET.parse().unwrap()));
    let cookie = cookie.replace(&server.address.port().to_string(), &again.address.port().to_string());
    assert_eq!(get(&again, "/api/about", &[("Cookie", &cookie), ("Perfset-Key", &key)]).status, 401);
    // Without a token there is nothing to log in to.
    let open = Running::start(|_| {});
    let answer = get(&open, "/api/login", &[]);
    assert_eq!((answer.body.as_str(), answer.header("set-cookie")), ("{\"key\":null}", ""));
}

/// Checks that the login cookie alone, which a browser sends to every port of the host, reads no data. A program that
/// listens there could replay it to this server.
#[test]
fn the_cookie_alone_reads_nothing_from_another_port() {
    let server = Running::start(|options| options.token = Some(SECRET.parse().unwrap()));
    let (cookie, _) = log_in(&server);
    let thief = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut browser = TcpStream::connect(thief.local_addr().unwrap()).unwrap();
    browser
        .write_all(format!("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n").as_bytes())
        .unwrap();
    browser.shutdown(Shutdown::Write).unwrap();
    let mut seen = String::new();
    thief.accept().unwrap().0.read_to_string(&mut seen).unwrap();
    let stolen = seen.lines().find_map(|line| line.strip_prefix("Cookie: ")).unwrap();
    let origin = format!("http://{}", server.address);
    let number = stolen.split_once('=').unwrap().1;
    for (key, value) in [("Accept", "*/*"), ("Perfset-Key", ""), ("Perfset-Key", number)] {
        for target in DATA {
            let forged = [
                ("Cookie", stolen),
                ("Origin", &origin),
                ("Referer", &origin),
                ("Sec-Fetch-Site", "same-origin"),
                ("Sec-Fetch-Mode", "cors"),
                ("Sec-Fetch-Dest", "empty"),
                (key, value),
            ];
            let answer = get(&server, target, &forged);
            assert_eq!(answer.status, 401, "{target}: {}", answer.text);
            assert!(!answer.text.contains("tea"), "{target}: {}", answer.text);
        }
    }
}

/// Sends a request and reads the response until the end of the connection, which must not be a reset.
fn to_the_end(mut stream: TcpStream, bytes: &[u8]) -> String {
    let _ = stream.write_all(bytes); // a refusal may come before all is sent
    let mut text = String::new();
    let end = stream.read_to_string(&mut text);
    assert!(end.is_ok(), "{end:?} after {text:?}");
    text
}

#[test]
fn clients_without_token_cannot_block_the_owner() {
    let server = Running::start(|options| {
        options.token = Some(SECRET.parse().unwrap());
        options.limits.connections = 6;
        options.limits.strangers = 2;
    });
    let bearer = format!("Bearer {SECRET}");
    let mut owner = server.stream("path=/Shop(tea)/Stock", &[("Authorization", &bearer)]);
    owner.samples(1);
    let mut held = Vec::new();
    for round in 0..20 {
        let text =
            ["", "GET /metrics HTTP/1.1\r\nHost: loc", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"];
        for text in text {
            let mut stream = server.connect();
            let _ = stream.write_all(text.as_bytes());
            held.push(stream);
        }
        let answer = get(&server, "/metrics", &[("Authorization", &bearer)]);
        assert_eq!(answer.status, 200, "round {round}: {}", answer.text);
    }
    // Those that had to go were told so, unless they had an answer.
    for (n, stream) in held.into_iter().take(50).enumerate() {
        let text = to_the_end(stream, b"");
        let want = if n % 3 == 2 { "HTTP/1.1 200 OK\r\n" } else { "HTTP/1.1 503 " };
        assert!(text.is_empty() || text.starts_with(want), "{n}: {text}");
    }
    owner.samples(2);
}

#[test]
fn a_refusal_arrives_whatever_else_was_sent() {
    let server = Running::start(|options| {
        options.token = Some(SECRET.parse().unwrap());
        options.limits.connections = 3;
        options.limits.strangers = 1;
    });
    let much = "x".repeat(300_000);
    let bearer = format!("Authorization: Bearer {SECRET}\r\n");
    let asks = |header: &str| format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\n{header}\r\n{much}");
    let refused = to_the_end(server.connect(), asks("").as_bytes());
    assert!(refused.starts_with("HTTP/1.1 401 ") && refused.contains("a token is asked"), "{refused}");
    // All places of those with the token are taken: this is said over the place for others.
    let streams = [0, 1].map(|_| {
        let mut stream =
            server.stream("path=/Shop(tea)/Stock", &[("Authorization", &format!("Bearer {SECRET}"))]);
        stream.samples(1);
        stream
    });
    let refused = to_the_end(server.connect(), asks(&bearer).as_bytes());
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("2 connections are open"), "{refused}");
    drop(streams);
    // One that has sent much of a request that never ends has to go.
    let mut stream = server.connect();
    stream
        .write_all(format!("GET /{} HTTP/1.1\r\nA: {}", &much[..9_000], &much[..9_000]).as_bytes())
        .unwrap();
    let others = server.connect();
    let refused = to_the_end(stream, b"");
    assert!(
        refused.starts_with("HTTP/1.1 503 ") && refused.ends_with("too many connections\"}"),
        "{refused}"
    );
    drop(others);
}

#[test]
fn a_connection_without_a_token_ends_soon() {
    let server = Running::start(|options| {
        options.token = Some(SECRET.parse().unwrap());
        options.limits.first_time = Duration::from_millis(50);
    });
    let healthy = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (text, want) in [
        ("", "HTTP/1.1 408 "),
        ("GET / HT", "HTTP/1.1 408 "),
        (healthy, "HTTP/1.1 200 "),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 401 "),
    ] {
        let got = to_the_end(server.connect(), text.as_bytes());
        assert!(got.starts_with(want), "{text:?}: {got}");
    }
    // With the token it stays.
    let mut stream = server.connect();
    for _ in 0..3 {
        stream
            .write_all(
                format!("{}Authorization: Bearer {SECRET}\r\n\r\n", &healthy[..healthy.len() - 2]).as_bytes(),
            )
            .unwrap();
        let mut bytes = [0; 4096];
        assert!(stream.read(&mut bytes).unwrap() > 0);
        std::thread::sleep(Duration::from_millis(60));
    }
}

/// Checks that a hundred viewers cause as many collections as one.
#[test]
fn a_hundred_viewers_cause_as_many_collections_as_one() {
    let server = Running::start(|_| {});
    let mut viewers: Vec<_> =
        (0..100).map(|_| server.stream("path=/Shop(*)/Stock&path=/Shop(*)/Orders/sec", &[])).collect();
    for viewer in &mut viewers {
        viewer.samples(3);
    }
    let before = server.collections();
    let now = get(&server, "/api/about", &[]).json()["now"].clone();
    let after = server.collections();
    assert_eq!((now["viewers"].as_u64(), now["requests"].as_u64()), (Some(100), Some(1)), "{now}");
    let samples = now["samples"].as_u64().unwrap();
    assert!((before..=after).contains(&samples), "{before} <= {samples} <= {after} collections");
}

#[test]
fn nothing_is_collected_when_nobody_looks() {
    let server = Running::start(|_| {});
    server.stream("path=/Shop(tea)/Stock&top=1", &[]).samples(1);
    // The viewer is gone: the next sample or the one after finds that out.
    until("the path is let go", || server.about()["now"]["paths"] == 0);
    let collections = server.collections();
    (0..50).for_each(|_| drop(server.about()));
    assert_eq!(server.collections(), collections);
}

#[test]
fn samples_are_whole_and_names_are_text() {
    let server = Running::start(|_| {});
    let name = "</script><script>alert(1)</script>\u{202e}\"\n";
    server.provider.with(|script| script.rows.push((name, 11, vec![Ok(13), Ok(17)])));
    let mut stream = server.stream("path=/Shop(*)/Stock&path=/Shop(*)/Stock&top=1", &[]);
    let (series, sample) = (stream.event("series"), stream.event("sample"));
    let named: Vec<_> = series["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["instance"].as_str(), one["ask"].as_u64()))
        .collect();
    assert!(named.contains(&(Some(name), Some(0))) && named.contains(&(Some(name), Some(1))), "{named:?}");
    assert_eq!(named.len(), 4, "three of the first path, one of the second: {named:?}");
    let of = |instance: &str| {
        let one =
            series["series"].as_array().unwrap().iter().find(|one| one["instance"] == instance).unwrap();
        let at = sample["ids"].as_array().unwrap().iter().position(|id| *id == one["id"]).unwrap();
        sample["values"][at].clone()
    };
    assert_eq!((of("tea"), of("milk"), of(name)), (7.0.into(), 9.0.into(), 13.0.into()));
    assert_eq!(sample["ids"].as_array().unwrap().len(), 3, "each series once");
    assert!(stream.head.contains("content-type: text/event-stream\r\n") && stream.head.contains("nosniff"));
    assert!(!stream.text.contains('\u{0}') && stream.text.contains("\\n"));
}

#[test]
fn missing_values_have_a_reason() {
    let server = Running::start(|_| {});
    let mut stream = server.stream("path=/Shop(none)/Stock&path=/Shop(tea)/Orders/sec", &[]);
    let first = stream.event("sample");
    assert_eq!(first["nothing"][0]["ask"], 0);
    assert_eq!(first["nothing"][0]["status"], "no_instance");
    let id = first["ids"][0].to_string();
    assert_eq!(
        (&first["values"][0], &first["missing"][id.as_str()]),
        (&serde_json::Value::Null, &"needs_two_samples".into())
    );
    let second = stream.event("sample");
    assert!(second["values"][0].is_number() && second.get("missing").is_none(), "{second}");
}

#[test]
fn reconnected_stream_resumes_after_last_event() {
    let server = Running::start(|_| {});
    let mut stream = server.stream("path=/Shop(tea)/Stock", &[]);
    let times: Vec<i64> = (0..4).map(|_| stream.event("sample")["time"].as_i64().unwrap()).collect();
    drop(stream);
    let last = times[1].to_string();
    let mut again = server.stream("path=/Shop(tea)/Stock", &[("Last-Event-ID", &last)]);
    let (series, history) = (again.event("series"), again.event("history"));
    assert_eq!(history["ids"], serde_json::json!([series["series"][0]["id"]]));
    let restored: Vec<i64> =
        history["times"].as_array().unwrap().iter().map(|time| time.as_i64().unwrap()).collect();
    assert_eq!(restored[..2], times[2..], "all that came since, and nothing else");
    assert!(history["values"][0].as_array().unwrap().iter().all(|value| *value == 7.0));
    let next = again.event("sample")["time"].as_i64().unwrap();
    assert_eq!(next, restored.last().unwrap() + 1_000, "this clock advances one second a reading");
    // Who asks for what came before without having been there gets it too.
    let mut new = server.stream("path=/Shop(tea)/Stock&history=3600", &[]);
    assert!(new.event("history")["times"].as_array().unwrap().contains(&times[0].into()));
}

/// Checks that a series has the history of its counter and instance, whatever counter path requests it.
#[test]
fn a_series_has_its_history_under_every_path() {
    let server = Running::start(|_| {});
    let mut first = server.stream("path=/Shop(*)/Stock", &[]);
    let series = first.event("series");
    let tea = series["series"].as_array().unwrap().iter().find(|one| one["instance"] == "tea").unwrap();
    let times: Vec<_> = (0..3).map(|_| first.event("sample")["time"].clone()).collect();
    for path in [
        "/Shop(tea)/Stock",
        "/shop(tea)/STOCK",
        "/Shop({tea,milk})/Stock",
        "/Shop(t*)/S*",
        "/Shop(!milk)/Stock",
    ] {
        let mut stream = server.stream(&format!("path={path}&history=3600"), &[]);
        drop(stream.event("sample"));
        assert!(stream.text.contains("event: history\n"), "{path}: {}", stream.text);
        let mut stream = server.stream(&format!("path={path}&history=3600"), &[]);
        let (series, history) = (stream.event("series"), stream.event("history"));
        let told: Vec<_> = series["series"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
        assert!(told.contains(&tea["id"]), "{path}: {series}");
        let at = history["ids"].as_array().unwrap().iter().position(|id| *id == tea["id"]).unwrap();
        for time in &times {
            let n = history["times"].as_array().unwrap().iter().position(|other| other == time);
            assert_eq!(history["values"][at][n.unwrap()], 7.0, "{path}: {history}");
        }
    }
    // What another path stored of other instances and counters is not it.
    let mut stream = server.stream("path=/Shop(milk)/Orders/sec&history=3600", &[]);
    drop(stream.event("sample"));
    assert!(!stream.text.contains("event: history\n"), "{}", stream.text);
}

/// Checks that a sum covers all instances that have a value, also those without a series of their own. The number of
/// instances without a value is reported.
#[test]
fn a_sum_is_over_all_instances_and_says_how_many_have_no_value() {
    let server = Running::start(|options| options.limits.series = 3);
    let denied = || Err(NoValue::Denied("ask root".into()));
    server.provider.with(|script| {
        script.rows = vec![
            ("_Total", 0, vec![Ok(100)]),
            ("Idle", 0, vec![Ok(50)]),
            ("tea", 3, vec![Ok(7)]),
            ("milk", 5, vec![Ok(9)]),
            ("salt", 7, vec![denied()]),
            ("oil", 11, vec![denied()]),
            ("rice", 13, vec![Ok(11)]),
        ];
        script.marks = vec![(0, Mark::Partial(2.try_into().unwrap()))];
    });
    let mut stream = server.stream("path=/Shop(*)/Stock&sum=1&path=/Shop(*)/Stock&top=1", &[]);
    let (series, sample) = (stream.event("series"), stream.event("sample"));
    let series = series["series"].as_array().unwrap();
    let sum = series.iter().find(|one| one["sum"] == true).unwrap();
    assert_eq!(
        (&sum["path"], &sum["instance"], &sum["ask"]),
        (&r"\Shop(*)\Stock".into(), &"*".into(), &0.into())
    );
    let at = sample["ids"].as_array().unwrap().iter().position(|id| *id == sum["id"]).unwrap();
    assert_eq!(sample["values"][at], 27.0, "{sample}");
    assert_eq!(sample["marks"][sum["id"].to_string()], "partial", "{sample}");
    let denied = serde_json::json!({"counter": "Stock", "status": "denied", "instances": 2, "of": 5});
    let without = |ask: u64| {
        let mut without = denied.clone();
        without["ask"] = ask.into();
        without
    };
    assert_eq!(sample["without"], serde_json::json!([without(0), without(1)]));
    let total = series.iter().find(|one| one["instance"] == "_Total").unwrap();
    assert_eq!(sample["marks"][total["id"].to_string()], "partial", "{sample}");
    // The sum has a past as everything else, and is in no stream that does not ask for it.
    stream.event("sample");
    let mut again = server.stream("path=/shop(*)/stock&sum=1&history=3600", &[]);
    drop(again.event("series"));
    let history = again.event("history");
    let at = history["ids"].as_array().unwrap().iter().position(|id| *id == sum["id"]).unwrap();
    assert_eq!(history["values"][at][0], 27.0, "{history}");
    let mut plain = server.stream("path=/Shop(*)/Stock", &[]);
    let (_, sample) = (plain.event("series"), plain.event("sample"));
    assert!(!plain.text.contains("\"sum\"") && sample.get("without").is_none(), "{}", plain.text);
    // What does not add up has no sum.
    let mut rates = server.stream("path=/Shop(*)/Orders/sec&sum=1", &[]);
    drop((rates.event("sample"), rates.event("sample")));
    assert!(!rates.text.contains("\"sum\""), "{}", rates.text);
}

#[test]
fn there_are_so_many_series_and_no_more() {
    let server = Running::start(|options| options.limits.series = 1);
    let mut stream = server.stream("path=/Shop(*)/Stock", &[]);
    assert_eq!(stream.event("sample")["ids"].as_array().unwrap().len(), 1);
    let now = server.about()["now"].clone();
    assert_eq!((now["series"].as_u64(), now["series_refused"].as_u64()), (Some(1), Some(1)), "{now}");
}

#[test]
fn there_are_so_many_streams_paths_and_connections() {
    let server = Running::start(|options| {
        options.limits.streams = 2;
        options.limits.paths = 2;
        options.limits.connections = 6;
        options.limits.strangers = 2;
    });
    let mut one = server.stream("path=/Shop(tea)/Stock", &[]);
    one.samples(1);
    let other = "/api/stream?path=/Shop(milk)/Stock&path=/Shop(*)/Stock";
    let answer = get(&server, other, &[]);
    assert_eq!((answer.status, answer.header("retry-after")), (429, "2"));
    assert!(answer.body.contains("2 different paths"), "{}", answer.body);
    let mut two = server.stream("path=/Shop(tea)/Stock", &[]);
    two.samples(1);
    let answer = get(&server, "/api/stream?path=/Shop(tea)/Stock", &[]);
    assert!(answer.status == 429 && answer.body.contains("2 streams are open"), "{}", answer.body);
    let idle = [0, 1].map(|_| {
        let mut stream = server.connect();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        stream
    });
    until("the idle ones take the last places", || {
        let answer = get(&server, "/healthz", &[]);
        let want = "{\"error\":\"4 connections are open, and no more can be\"}";
        assert!(answer.status == 200 || answer.body == want, "{}", answer.text);
        answer.status == 503 && answer.header("retry-after") == "2"
    });
    // Connections without a request do not take the places of other clients.
    let silent: Vec<_> = (0..9).map(|_| server.connect()).collect();
    assert_eq!(get(&server, "/healthz", &[]).status, 503);
    drop(silent);
    drop(idle);
    drop(two);
    until("there is a place again", || get(&server, "/healthz", &[]).status == 200);
    // The place of who went away is free again.
    let again = b"GET /api/stream?path=/Shop(tea)/Stock HTTP/1.0\r\nHost: localhost\r\n\r\n";
    until("a stream can be opened again", || request(&server, again).status == 200);
}

/// Checks that the server refuses new counter paths while a sample takes as long as the interval.
#[test]
fn overloaded_server_rejects_new_paths() {
    let server = Running::start(|options| options.interval = Duration::from_millis(1));
    // Collecting them takes longer than that, and leaves the reader time to read.
    let name = |id| ["tea", "milk"].get(id).copied().unwrap_or("other");
    let rows = (0..20_000).map(|id| (name(id), u32::try_from(id).unwrap(), vec![Ok(1), Ok(2)]));
    server.provider.with(|script| script.rows = rows.collect());
    server.stream("path=/Shop(tea)/Stock", &[]).samples(1);
    for other in ["path=/Shop(milk)/Stock", "path=/Shop(tea)/Stock&path=/Shop(tea)/Stock&top=1"] {
        let answer = get(&server, &format!("/api/stream?{other}"), &[]);
        assert_eq!(answer.status, 429);
        assert!(answer.body.contains("nothing else can be looked at"), "{}", answer.body);
    }
}

/// Checks that clients that do not read are disconnected, without an effect on other clients.
#[test]
fn slow_reader_is_disconnected() {
    let server = Running::start(|options| {
        options.limits.patience = Duration::from_millis(100);
        options.limits.streams = 4;
    });
    let rows = (0..2_000_u32).map(|id| {
        ("an instance with a name that is long enough to fill a queue soon", id, vec![Ok(1), Ok(2)])
    });
    server.provider.with(|script| script.rows = rows.collect());
    let asleep: Vec<_> = (0..3).map(|_| server.stream("path=/Shop(*)/Stock", &[])).collect();
    let mut awake = server.stream("path=/Shop(*)/Stock", &[]);
    until("they are cut off", || {
        awake.samples(1);
        server.about()["now"]["viewers"] == 1
    });
    // Their connections are given up too, and their places with them.
    until("there is a place again", || {
        awake.samples(1);
        get(&server, "/api/stream?path=/Shop(*)/Stock", &[]).status == 200
    });
    drop(asleep);
}

#[test]
fn half_a_request_does_not_stay() {
    let short = Duration::from_millis(50);
    for is_first in [true, false] {
        let server = Running::start(|options| match is_first {
            true => options.limits.first_time = short,
            false => options.limits.header_time = short,
        });
        for text in ["", "GET / HTTP/1.1\r\nHost: loc"] {
            let answer = request(&server, text.as_bytes());
            assert!(matches!(answer.status, 0 | 408), "{text:?}: {}", answer.text);
        }
        assert_eq!(get(&server, "/healthz", &[]).status, 200);
    }
}

#[test]
fn open_stream_outlives_first_request_timeout() {
    let server = Running::start(|options| options.limits.first_time = Duration::from_millis(50));
    let mut stream = server.stream("path=/Shop(tea)/Stock", &[]);
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(200) {
        stream.samples(1);
    }
}

#[test]
fn thousands_of_bad_requests_change_nothing() {
    static SEED: AtomicU64 = AtomicU64::new(0x9E37_79B9_7F4A_7C15);
    let next = || {
        let mut x = SEED.load(Ordering::Relaxed);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        SEED.store(x, Ordering::Relaxed);
        x
    };
    let server = Running::start(|_| {});
    let mut stream = server.stream("path=/Shop(tea)/Stock", &[]);
    stream.samples(1);
    for round in 0..3_000 {
        let len = usize::try_from(next() % 60).unwrap();
        let bytes: Vec<u8> = (0..len).map(|_| next().to_le_bytes()[3]).collect();
        match round % 3 {
            0 => drop(server.send_and_leave(&bytes)),
            1 => {
                let text: String = bytes.iter().map(|byte| format!("%{byte:02x}")).collect();
                let answer = get(&server, &format!("/api/query?path=/{text}"), &[]);
                assert!((400..500).contains(&answer.status), "{text}: {}", answer.status);
            }
            _ => {
                let text: String = bytes.iter().map(|byte| char::from(byte % 94 + 33)).collect();
                let line = format!("GET /{text} HTTP/1.1\r\nHost: localhost\r\n\r\n");
                drop(server.send_and_leave(line.as_bytes()));
            }
        }
    }
    stream.samples(2);
    assert_eq!(server.about()["now"]["viewers"], 1);
}

#[test]
fn the_end_is_told() {
    let mut server = Running::start(|_| {});
    let mut stream = server.stream("path=/Shop(tea)/Stock", &[]);
    stream.samples(1);
    assert!(server.stop().is_ok());
    assert_eq!(stream.event("end"), serde_json::json!({"error": "the server ends"}));
    assert!(stream.is_over());
}

#[test]
fn an_address_that_is_taken_is_named() {
    let server = Running::start(|_| {});
    let options = ServerOptions { listen: vec![server.address], metrics: vec![], ..ServerOptions::default() };
    let error = Server::open(shop().0, options).unwrap_err();
    assert!(matches!(error, ServeError::Listen { address, .. } if address == server.address));
    assert_eq!(error.to_string(), format!("cannot listen on {}", server.address));
}
