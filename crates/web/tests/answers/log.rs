//! Tests of a server that shows a recording: its responses are compared with the recorded values.

use std::time::Duration;

use perfset::Window;
use perfset_web::{Server, ServerOptions};
use serde_json::{Value, json};

use crate::running::recorder::Recorder;
use crate::running::{Running, get};

/// Returns path, value and seconds since 1970 of each value of a response.
fn values(answer: &Value) -> Vec<(String, Value, i64)> {
    let of = |value: &Value| {
        let time = value["time"].as_str().unwrap();
        let second = time[17..19].parse::<i64>().unwrap();
        (value["path"].as_str().unwrap().to_owned(), value["value"].clone(), second)
    };
    answer["values"].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn instants_have_the_values_that_were_recorded() {
    let recorder = Recorder::new("instants", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let tea = "/api/query?path=/Shop(tea)/Stock&path=/Shop(tea)/Orders/sec";
    // The first tick is second 1.
    for (at, second) in [("", 20), ("&at=20000", 20), ("&at=7999", 7), ("&at=7000", 7), ("&at=%2B2", 3)] {
        let got = values(&get(&server, &format!("{tea}{at}"), &[]).json());
        let want = vec![
            (r"\Shop(tea)\Stock".to_owned(), json!(f64::from(100 + second)), i64::from(second)),
            (r"\Shop(tea)\Orders/sec".to_owned(), json!(10.0), i64::from(second)),
        ];
        assert_eq!(got, want, "{at}");
    }
    // It was read at seconds 1, 6, 11 and 16: in between, the last rate is that of the last two of these.
    for (at, second) in [(18, 16), (16, 16), (9, 6)] {
        let got = get(&server, &format!("/api/query?path=/Weather(*)/Drops/sec&at={at}000"), &[]).json();
        assert_eq!(values(&got), [(r"\Weather(here)\Drops/sec".to_owned(), json!(1_000.0), second)], "{at}");
    }
    for (target, status, text) in [
        ("/api/query?path=/Shop(tea)/Stock&at=999", 404, "no sample there: it is from 1000 to 20000"),
        ("/api/query?path=/Shop(tea)/Stock&at=x", 400, "at: x is no time"),
        ("/api/query?path=/Shop(tea)/Stok", 404, "nearest: Stock"),
        ("/api/query?path=/Shop(none)/Stock", 200, "no_instance"),
        ("/api/findings", 200, "\"time\":20000"),
        ("/api/findings?at=7999", 200, "\"time\":7000"),
        ("/api/findings?at=1", 404, "no sample there"),
        ("/api/countersets/Shop", 200, "{\"name\":\"milk\",\"id\":5}"),
        ("/api/find?words=stock", 200, "Stock"),
        ("/metrics", 404, "this server shows a log, and metrics are values of now"),
        ("/api/about", 200, "\"log\":[1000,20000]"),
        (
            "/api/about",
            200,
            "\"machine\":\"web1\",\"system\":\"Linux 6.1\",\"interval_ms\":1000,\"history_s\":19",
        ),
        ("/api/stream?path=/Shop(tea)/Stock&begin=30000", 404, "no sample there"),
        ("/", 200, "<!doctype html>"),
    ] {
        let answer = get(&server, target, &[]);
        assert_eq!(answer.status, status, "{target}: {}", answer.body);
        assert!(answer.body.contains(text), "{target}: {}", answer.body);
    }
}

/// Returns the times and values of a series in the first events of a stream.
fn series(events: &[Value; 2], path: &str) -> (Vec<i64>, Vec<Option<f64>>) {
    let [described, history] = events;
    let id =
        described["series"].as_array().unwrap().iter().find(|one| one["path"] == path).unwrap()["id"].clone();
    let at = history["ids"].as_array().unwrap().iter().position(|known| *known == id).unwrap();
    let times = history["times"].as_array().unwrap().iter().map(|time| time.as_i64().unwrap());
    let values = history["values"][at].as_array().unwrap().iter().map(Value::as_f64);
    (times.collect(), values.collect())
}

#[test]
fn ranges_have_every_sample_and_the_last_one_with_its_reasons() {
    let recorder = Recorder::new("ranges", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let paths = "path=/Shop(*)/Stock&path=/Weather(*)/Drops/sec&path=/Shop(*)/Orders/sec&top=1";
    let mut stream = server.stream(&format!("{paths}&begin=5000&end=%2B11"), &[]);
    let events = [stream.event("series"), stream.event("history")];
    let (times, stock) = series(&events, r"\Shop(tea)\Stock");
    assert_eq!(times, (5..12).map(|n| n * 1_000).collect::<Vec<_>>());
    assert_eq!(stock, (5..12).map(|n| Some(f64::from(100 + n))).collect::<Vec<_>>());
    // Begun at second 6, where its first rate is: the one before was at second 1, which is not read.
    let (_, drops) = series(&events, r"\Weather(here)\Drops/sec");
    assert_eq!(drops[6], Some(1_000.0), "{drops:?}");
    let sample = stream.event("sample");
    assert_eq!(sample["time"], 12_000);
    let numbers: Vec<f64> = sample["values"].as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    let mut sorted = numbers.clone();
    sorted.sort_by(f64::total_cmp);
    // Milk, tea, the greatest rate of orders, and drops.
    assert_eq!(sorted, [1.0, 10.0, 112.0, 1_000.0], "{sample}");
    assert_eq!(sample["marks"].as_object().unwrap().values().collect::<Vec<_>>(), ["stale"], "{sample}");
    assert_eq!(stream.event("end")["error"], "the range ends here");
    assert!(stream.is_over());
    // Without a time it has the last samples, as a live server has.
    let mut stream = server.stream("path=/Shop(tea)/Stock&history=3", &[]);
    let events = [stream.event("series"), stream.event("history")];
    assert_eq!(series(&events, r"\Shop(tea)\Stock").0, [17_000, 18_000, 19_000]);
    assert_eq!(stream.event("sample")["time"], 20_000);
}

/// Checks that times of responses are whole milliseconds, by which later requests find the samples.
#[test]
fn times_of_responses_find_their_samples() {
    let recorder = Recorder::with("later", 20, 5, 5_500);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let got = get(&server, "/api/query?path=/Shop(tea)/Stock&at=7000", &[]).json();
    assert_eq!((values(&got)[0].1.clone(), values(&got)[0].2), (json!(107.0), 7));
    assert!(get(&server, "/api/findings?at=1000", &[]).body.contains("\"time\":1000"));
    let whole = "path=/Shop(tea)/Stock&begin=5000&end=8000";
    for (query, times) in
        [(whole, &[5_000, 6_000, 7_000][..]), ("path=/Shop(tea)/Stock&history=1&end=8000", &[7_000])]
    {
        let mut stream = server.stream(query, &[]);
        let events = [stream.event("series"), stream.event("history")];
        assert_eq!(series(&events, r"\Shop(tea)\Stock").0, times, "{query}");
        assert_eq!(stream.event("sample")["time"], 8_000, "{query}");
    }
}

/// Checks that a reader of a range that comes back gets the rest, and that series have other numbers than before.
#[test]
fn readers_of_a_range_that_come_back_get_the_rest() {
    let recorder = Recorder::new("rest", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let stock = "path=/Shop(tea)/Stock&begin=5000&end=12000";
    let mut first = server.stream(stock, &[]);
    let mut ids = vec![first.event("series")["series"][0]["id"].clone()];
    let mut again = server.stream(stock, &[("Last-Event-ID", "8000")]);
    let events = [again.event("series"), again.event("history")];
    ids.push(events[0]["series"][0]["id"].clone());
    assert_ne!(ids[0], ids[1]);
    assert_eq!(series(&events, r"\Shop(tea)\Stock").0, [9_000, 10_000, 11_000]);
    assert_eq!(again.event("sample")["time"], 12_000);
    for last in ["12000", "15000"] {
        let mut over = server.stream(stock, &[("Last-Event-ID", last)]);
        assert_eq!(over.event("end")["error"], "the range ends here");
        assert!(over.is_over());
    }
}

/// Checks values of countersets that a recorder with a CPU budget reads only every 300 s.
#[test]
fn counters_of_long_intervals_have_values() {
    let recorder = Recorder::with("seldom", 910, 300, 0);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    for (at, second) in [(900, 601), (901, 901), (910, 901)] {
        let got = get(&server, &format!("/api/query?path=/Weather(*)/Drops/sec&at={at}000"), &[]).json();
        let got = values(&got);
        assert_eq!((got[0].1.clone(), got[0].2), (json!(1_000.0), second % 60), "{at}");
    }
}

#[test]
fn longer_intervals_have_the_means_of_their_time() {
    let recorder = Recorder::new("thinned", 20);
    let log = recorder.served(Window { begin: Some(0), end: None });
    let server = Running::of_log(log, |options| options.limits.values = 5);
    assert!(get(&server, "/api/about", &[]).body.contains("\"interval_ms\":4000,\"history_s\":19"));
    let mut stream = server.stream("path=/Shop(tea)/Orders/sec&path=/Shop(tea)/Stock&history=19", &[]);
    let events = [stream.event("series"), stream.event("history")];
    let (times, rates) = series(&events, r"\Shop(tea)\Orders/sec");
    assert_eq!(times, [1_000, 5_000, 9_000, 13_000, 17_000]);
    assert_eq!(rates[1..], [Some(10.0); 4]);
    assert_eq!(series(&events, r"\Shop(tea)\Stock").1[4], Some(117.0));
}

#[test]
fn new_samples_of_a_growing_recording_are_sent_to_those_who_wait() {
    let mut recorder = Recorder::new("growing", 5);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let mut stream = server.stream("path=/Shop(tea)/Stock&history=0", &[]);
    assert_eq!(stream.event("sample")["time"], 5_000);
    // A file is finished after seven ticks, and the next is begun.
    for second in 6..=16 {
        recorder.tick();
        let sample = stream.event("sample");
        assert_eq!(
            (&sample["time"], &sample["values"]),
            (&json!(second * 1_000), &json!([f64::from(100 + second)]))
        );
    }
    let answer = get(&server, "/api/query?path=/Shop(tea)/Stock", &[]).json();
    assert_eq!(values(&answer)[0].2, 16);
    // A reader that comes back gets what it missed.
    let mut again = server.stream("path=/Shop(tea)/Stock", &[("Last-Event-ID", "13000")]);
    let events = [again.event("series"), again.event("history")];
    assert_eq!(series(&events, r"\Shop(tea)\Stock").0, [14_000, 15_000]);
    drop((stream, again));
}

#[test]
fn a_window_hides_the_rest_and_ends() {
    let recorder = Recorder::new("window", 20);
    let at = |second: i64| Some(perfset::clock::UNIX_EPOCH_100NS + second * 10_000_000);
    let mut server = Running::of_log(recorder.served(Window { begin: at(5), end: at(9) }), |_| {});
    assert!(get(&server, "/api/about", &[]).body.contains("\"log\":[5000,9000]"));
    assert_eq!(values(&get(&server, "/api/query?path=/Shop(tea)/Stock", &[]).json())[0].2, 9);
    assert_eq!(get(&server, "/api/query?path=/Shop(tea)/Stock&at=4000", &[]).status, 404);
    // It stays open, because a page would connect again.
    let mut stream = server.stream("path=/Shop(tea)/Stock&history=60", &[]);
    let events = [stream.event("series"), stream.event("history")];
    assert_eq!(series(&events, r"\Shop(tea)\Stock").0, [5_000, 6_000, 7_000, 8_000]);
    server.stop().unwrap();
    assert_eq!(stream.event("end")["error"], "the server ends");
    let log = recorder.served(Window { begin: at(50), end: None });
    let listen = vec![std::net::SocketAddr::from(([127, 0, 0, 1], 0))];
    let error = Server::open_log(log, ServerOptions { listen, ..ServerOptions::default() }).unwrap_err();
    assert!(error.to_string().contains("no sample in the time to show"), "{error}");
}

#[test]
fn a_live_server_has_no_past() {
    let server = Running::start(|options| options.interval = Duration::from_millis(20));
    for target in [
        "/api/query?path=/Shop(tea)/Stock&at=1",
        "/api/findings?at=1",
        "/api/stream?path=/Shop(tea)/Stock&begin=1",
        "/api/stream?path=/Shop(tea)/Stock&end=1",
    ] {
        let answer = get(&server, target, &[]);
        assert_eq!(answer.status, 400, "{target}");
        assert!(answer.body.contains("at, begin and end are times of a log"), "{target}: {}", answer.body);
    }
}

/// Returns one statistic of a series in each step of a response for a range.
fn steps(range: &Value, series: usize, statistic: &str) -> Vec<Option<f64>> {
    range["series"][series][statistic].as_array().unwrap().iter().map(Value::as_f64).collect()
}

#[test]
fn a_range_has_what_was_recorded() {
    let recorder = Recorder::new("range", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let range = |query: &str| get(&server, &format!("/api/v1/range?{query}"), &[]);
    // The ticks are at seconds 1 to 20; the stock is 100 more.
    let got = range("path=/Shop(tea)/Stock&alias=tea&from=0&to=20000&step=5").json();
    assert_eq!((&got["from"], &got["to"], &got["step_ms"]), (&json!(0), &json!(20_000), &json!(5_000)));
    assert_eq!(got["times"], json!([0, 5_000, 10_000, 15_000, 20_000]));
    let [series] = got["series"].as_array().unwrap().as_slice() else { panic!("{got}") };
    assert_eq!((&series["alias"], &series["path"]), (&json!("tea"), &json!(r"\Shop(tea)\Stock")));
    for (statistic, want) in [
        ("least", [101.0, 105.0, 110.0, 115.0, 120.0]),
        ("mean", [102.5, 107.0, 112.0, 117.0, 120.0]),
        ("greatest", [104.0, 109.0, 114.0, 119.0, 120.0]),
        ("last", [104.0, 109.0, 114.0, 119.0, 120.0]),
    ] {
        assert_eq!(steps(&got, 0, statistic), want.map(Some), "{statistic}");
    }
    // A rate needs two samples, and the first one is the first of all.
    let got = range("path=/Shop(tea)/Orders/sec&from=0&to=4000&step=1").json();
    assert_eq!(steps(&got, 0, "mean"), [None, None, Some(10.0), Some(10.0), Some(10.0)]);
    assert_eq!(got["series"][0]["missing"], json!([[1, "needs_two_samples"]]));
    // The weather was read each five seconds: at 1, 6, 11 and 16. Its rate is of the time before.
    let got = range("path=/Weather(*)/Drops/sec&from=4000&to=13000&step=1").json();
    assert_eq!(steps(&got, 0, "mean"), [Some(1_000.0); 10]);
}

#[test]
fn a_range_tells_which_paths_it_has_not() {
    let recorder = Recorder::new("range-errors", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let range = |query: &str| get(&server, &format!("/api/v1/range?{query}"), &[]);
    let answer = range("path=/Shop(tea)/Stok&path=/Shop(milk)/Stock&path=nonsense&step=5");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let got = answer.json();
    assert_eq!(got["series"].as_array().unwrap().len(), 1);
    assert_eq!(got["series"][0]["ask"], 1);
    let errors = got["errors"].as_array().unwrap();
    let of: Vec<_> = errors.iter().map(|error| (error["ask"].as_u64(), error["status"].as_u64())).collect();
    assert_eq!(of, [(Some(0), Some(404)), (Some(2), Some(400))], "{got}");
    assert_eq!(errors[0]["hints"], json!(["nearest: Stock"]));
    // Alone, each has the status of its error.
    assert_eq!(range("path=/Shop(tea)/Stok").status, 404);
    assert_eq!(range("path=nonsense").status, 400);
    assert_eq!(range("path=/Shop(tea)/Stock&from=20000&to=1000").status, 400);
    // A path that is known and was not recorded then.
    let got = range("path=/Shop(tea)/Stock&from=100000000&to=100001000").json();
    assert_eq!(got["errors"][0]["status"], 404, "{got}");
    // A limit is named with a request that fits.
    let answer = range("path=/Shop(*)/Stock&from=0&to=20000&step=1ms");
    assert_eq!(answer.status, 400);
    let hint = answer.json()["hints"][0].as_str().unwrap().to_owned();
    let fits = hint.strip_prefix("this fits: ").unwrap();
    assert_eq!(get(&server, fits, &[]).status, 200, "{fits}");
}

#[test]
fn a_report_is_a_file_to_be_saved() {
    let recorder = Recorder::new("report", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let asked = "/api/v1/report?from=5000&to=11999&path=/Shop(tea)/Stock&path=/No/Such";
    let answer = get(&server, asked, &[]);
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/html; charset=utf-8"));
    let name = "attachment; filename=\"web1-1970-01-01T000011Z.html\"";
    assert_eq!(answer.header("content-disposition"), name);
    // Opened beside the page, no script of it would run.
    let policy = answer.header("content-security-policy");
    assert!(policy.contains("sandbox;") && !policy.contains("script-src"), "{policy}");
    assert!(answer.body.contains("<!doctype html>") && answer.body.contains("script-src 'nonce-"));
    let data = answer.body.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!([&data["from"], &data["to"]], [5_000, 11_000]);
    let titles: Vec<_> = data["charts"].as_array().unwrap().iter().map(|chart| &chart["title"]).collect();
    assert_eq!(titles[..2], [r"\No\Such", "Shop: Stock"]);
    assert_eq!(data["charts"][0]["notes"][0]["text"], "no counterset is named \"No\"");
    let line = data["charts"][1]["lines"][0].as_u64().unwrap();
    let stock = data["lines"][usize::try_from(line).unwrap()]["values"].as_array().unwrap();
    assert_eq!(*stock, (105..=111).map(Value::from).collect::<Vec<_>>());
    // The file is named, and not its directory.
    let folder = recorder.folder.file_name().unwrap().to_str().unwrap();
    assert!(answer.body.contains(&format!("--log {folder} ")));
    assert!(!answer.body.contains(recorder.folder.to_str().unwrap()));
    for (target, status, text) in [
        ("from=1", 200, "20, one every 1 s, a part of the log"),
        ("", 200, "19 s"),
        ("from=30000", 400, "from, 30000, is later than to, 20000"),
        ("from=30000&to=40000", 404, "no sample there: it is from 1000 to 20000"),
        ("from=x", 400, "from: x is no time"),
        ("path=x", 400, "error"),
        ("top=1", 400, "there is path, from, to and log"),
    ] {
        let answer = get(&server, &format!("/api/v1/report?{target}"), &[]);
        assert_eq!(answer.status, status, "{target}: {:.300}", answer.body);
        assert!(answer.body.contains(text), "{target}: {:.300}", answer.body);
    }
    // Of a log that is shown in part, the rest is no part of a report.
    let ms = |ms: i64| Some(116_444_736_000_000_000 + ms * 10_000);
    let server = Running::of_log(recorder.served(Window { begin: ms(8_000), end: ms(9_500) }), |_| {});
    let part = get(&server, "/api/v1/report?from=0&to=20000", &[]);
    assert!(part.body.contains("\"from\":8000,\"to\":9000"), "{:.300}", part.body);
    let live = get(&Running::start(|_| {}), "/api/v1/report", &[]);
    assert_eq!(live.status, 404);
}

#[test]
fn a_range_is_a_table_too() {
    let recorder = Recorder::new("range-csv", 6);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let query = "path=/Shop(*)/Stock&alias=stock&path=/No/Such&from=0&to=5000&step=3&format=csv";
    let answer = get(&server, &format!("/api/v1/range?{query}"), &[]);
    assert_eq!(answer.header("content-type"), "text/csv; charset=utf-8");
    let mut lines = answer.body.lines();
    let head = lines.next().unwrap();
    assert!(
        head.starts_with("time,stock tea least,stock tea mean,stock tea greatest,stock tea last,stock milk"),
        "{head}"
    );
    assert!(head.contains("No"), "{head}");
    assert_eq!(lines.next().unwrap(), "1970-01-01T00:00:00.000Z,101.0,101.5,102.0,102.0,1.0,1.0,1.0,1.0,");
}

#[test]
fn the_greatest_of_a_range_and_its_sum() {
    let recorder = Recorder::new("range-top", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let range = |query: &str| get(&server, &format!("/api/v1/range?{query}"), &[]).json();
    let got = range("path=/Shop(*)/Stock&top=1&step=5");
    let paths: Vec<_> = got["series"].as_array().unwrap().iter().map(|series| &series["path"]).collect();
    assert_eq!(paths, [&json!(r"\Shop(tea)\Stock")]);
    let got = range("path=/Shop(*)/Stock&sum=1&from=0&to=20000&step=5");
    let sum = got["series"].as_array().unwrap().iter().find(|series| series["sum"] == true).unwrap();
    assert_eq!(sum["last"], json!([105.0, 110.0, 115.0, 120.0, 121.0]));
    // The sum has the instances that are not among the greatest, too.
    let both = range("path=/Shop(*)/Stock&top=1&sum=1&from=0&to=20000&step=5");
    assert_eq!(both["series"].as_array().unwrap().len(), 2);
    assert_eq!(both["series"].as_array().unwrap().iter().find(|series| series["sum"] == true), Some(sum));
}

/// Checks that a series that is read alone, from its own columns, has the values of a reading of all instances.
#[test]
fn a_single_series_is_that_of_a_pattern() {
    let recorder = Recorder::new("range-single", 30);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let read = |path: &str, rest: &str| {
        get(&server, &format!("/api/v1/range?path={path}&{rest}"), &[]).json()["series"].take()
    };
    for (alone, pattern) in [
        ("/Shop(tea)/Stock", "/Shop(t?a)/Stock"),
        ("/Shop(milk)/Orders/sec", "/Shop(m*)/Orders/sec"),
        ("/Weather(here)/Drops/sec", "/Weather(*)/Drops/sec"),
    ] {
        for rest in
            ["", "from=0&to=30000&step=1", "from=2500&to=29000&step=700ms", "from=7000&to=8000&step=10"]
        {
            let got = read(alone, rest);
            assert_eq!(got, read(pattern, rest), "{alone} {rest}");
            assert_eq!(got.as_array().unwrap().len(), 1, "{alone} {rest}");
        }
    }
}

#[test]
fn single_paths_have_the_limit_of_all_series() {
    let recorder = Recorder::new("range-limit", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    let paths = vec!["path=/Shop(tea)/Stock"; 64].join("&");
    let answer = get(&server, &format!("/api/v1/range?{paths}&from=1000&to=10999&step=1ms"), &[]);
    assert_eq!(answer.status, 400, "{}", answer.body);
    let hint = answer.json()["hints"][0].as_str().unwrap().to_owned();
    let fits = get(&server, hint.strip_prefix("this fits: ").unwrap(), &[]);
    assert_eq!((fits.status, fits.json()["series"].as_array().unwrap().len()), (200, 64), "{hint}");
}

/// Checks a counterset that was read every 300 s only: a range between two of its collections has its values.
#[test]
fn a_short_range_has_what_was_recorded_around_it() {
    let recorder = Recorder::with("range-rare", 900, 300, 0);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    for path in ["/Weather(here)/Drops/sec", "/Weather(*)/Drops/sec", "/Weather(*)/Drops/sec&top=1"] {
        let got =
            get(&server, &format!("/api/v1/range?path={path}&from=400000&to=460000&step=20"), &[]).json();
        assert_eq!(steps(&got, 0, "mean"), [Some(1_000.0); 4], "{path}: {got}");
    }
}

#[test]
fn a_range_has_only_what_is_shown() {
    let recorder = Recorder::new("range-window", 20);
    let second = |second: i64| {
        let first = recorder.served(Window::default()).logs.times().unwrap()[0];
        Some(first + (second - 1) * 10_000_000)
    };
    let window = Window { begin: second(5), end: second(10) };
    let server = Running::of_log(recorder.served(window), |_| {});
    let got = get(&server, "/api/v1/range?path=/Shop(tea)/Stock&from=0&to=20000&step=1", &[]).json();
    let values: Vec<f64> = steps(&got, 0, "last").into_iter().flatten().collect();
    assert_eq!(values, [105.0, 106.0, 107.0, 108.0, 109.0, 110.0], "{got}");
    assert_eq!(get(&server, "/api/v1/range?path=/Shop(tea)/Stock&from=0&to=2000", &[]).status, 404);
}
