//! Tests of tables: rows and columns of a counterset, from current values and from a log.

use std::sync::Arc;
use std::time::{Duration, Instant};

use perfset::provider::{Catalogue, Change, CollectRequest, Provider, Rows};
use perfset::testing::{FixedClock, Scripted};
use perfset::{
    Counter, CounterId, CounterType, Counterset, Entry, Fact, FactKind, FactOptions, Guid, Identity,
    InstanceType, Machine, Mark, NoValue, SourceError, Status, Window,
};
use serde_json::{Value, json};

use crate::running::recorder::Recorder;
use crate::running::{Running, SECRET, get};

/// Provider of processes that have facts, one of which is a secret.
#[derive(Clone, Debug)]
struct Processes(Scripted);

impl Provider for Processes {
    fn catalogue(&mut self) -> Result<Arc<Catalogue>, SourceError> {
        self.0.catalogue()
    }

    fn instances(&mut self, counterset: &Guid, rows: &mut Rows) -> Result<(), SourceError> {
        self.0.instances(counterset, rows)
    }

    fn entry(&mut self, change: Change, entry: &Entry) -> Status {
        self.0.entry(change, entry)
    }

    fn collect(&mut self, want: &CollectRequest<'_>, rows: &mut Rows) -> Result<(), SourceError> {
        self.0.collect(want, rows)
    }

    fn facts(&mut self, instance: &Identity<'_>, options: FactOptions) -> Result<Vec<Fact>, SourceError> {
        assert!(!options.with_command_lines, "command lines of other users are not asked for");
        let id = instance.instance_id.0;
        let denied = Err(NoValue::Denied("of another user".into()));
        let cgroup = if id % 2 == 0 { "/system.slice/even.service" } else { "/user.slice" };
        Ok(vec![
            Fact::new(FactKind::User, Ok("root".into())),
            Fact::new(
                FactKind::CommandLine,
                if id == 3 { denied } else { Ok("login --password=hunter2".into()) },
            ),
            Fact::new(FactKind::Executable, Ok("/opt/secret/login".into())),
            Fact::new(FactKind::Cgroup, Ok(cgroup.into())),
        ])
    }
}

/// Processes of a test: names, ids, parents, and shares of a processor in percent.
type Family = Vec<(&'static str, u32, u64, Result<u64, NoValue>)>;

fn family() -> Family {
    let unknown = Err(NoValue::Denied("not for you".into()));
    vec![
        ("_Total", 0, 0, Ok(60)),
        ("init", 1, 0, Ok(0)),
        ("shell", 2, 1, Ok(10)),
        ("cargo", 3, 2, Ok(20)),
        ("rustc", 4, 3, Ok(30)),
        ("other", 5, 1, unknown),
        ("<b>&\"x", 6, 99, Ok(0)),
    ]
}

/// Starts a server whose machine has these processes.
fn server(family: &Family, change: impl FnOnce(&mut perfset_web::ServerOptions)) -> Running {
    let counter = |id, name: &'static str| {
        Counter::new(CounterId(id), CounterType::PERF_COUNTER_LARGE_RAWCOUNT).name(name).unit("%")
    };
    let set = Counterset::new(Guid::from_u128(9), "Process V2", InstanceType::Multiple)
        .provider(Guid::NIL, "Test")
        .counters([
            counter(1, "Process ID"),
            counter(2, "Creating Process ID"),
            counter(3, "% Processor Time"),
        ]);
    let scripted = Scripted::new(vec![set]);
    let row = |(name, id, parent, share): &(&'static str, u32, u64, Result<u64, NoValue>)| {
        (*name, *id, vec![Ok(u64::from(*id)), Ok(*parent), share.clone()])
    };
    scripted.with(|script| {
        script.rows = family.iter().map(row).collect();
        script.marks = vec![(4, Mark::Held)];
    });
    let machine = Machine::bare(Box::new(FixedClock::default()));
    machine.register(Box::new(Processes(scripted.clone())));
    Running::of((machine, scripted), |options| {
        options.metrics = Vec::new();
        change(options);
    })
}

/// Query of all columns of the table, because a script has values for the wanted counters in their order.
const ALL: &str =
    "counterset=Process+V2&column=%25+Processor+Time&column=Process+ID&column=Creating+Process+ID";

fn table(server: &Running, rest: &str) -> Value {
    let answer = get(server, &format!("/api/v1/table?{ALL}{rest}"), &[]);
    assert_eq!(answer.status, 200, "{rest}: {}", answer.body);
    answer.json()
}

fn names(table: &Value) -> Vec<String> {
    let name = |row: &Value| {
        let depth = row["depth"].as_u64().unwrap_or(0);
        let sign = if row["ancestor"] == true { "^" } else { "" };
        format!("{}{}{sign}", " ".repeat(depth.try_into().unwrap()), row["name"].as_str().unwrap())
    };
    table["rows"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn rows_are_sorted_filtered_and_limited() {
    let server = server(&family(), |_| {});
    let hostile = "<b>&\"x";
    for (rest, want, count, more) in [
        ("", &["_Total", "rustc", "cargo", "shell", "init", hostile, "other"][..], 7, 0),
        ("&order=asc", &["_Total", "init", hostile, "shell", "cargo", "rustc", "other"], 7, 0),
        ("&limit=3", &["_Total", "rustc", "cargo"], 7, 4),
        ("&sort=name", &["_Total", hostile, "cargo", "init", "other", "rustc", "shell"], 7, 0),
        ("&sort=NAME&order=desc&limit=2", &[], 0, 0),
        ("&sort=name&order=desc&limit=2", &["_Total", "shell"], 7, 5),
        ("&filter=+RUST+", &["rustc"], 1, 0),
        ("&filter=3", &["cargo"], 1, 0),
        ("&filter=none", &[], 0, 0),
        ("&sort=Process+ID&limit=2", &["_Total", hostile], 7, 5),
        // Ancestors come with their rows; the order among children is that of the request.
        ("&tree=parent", &["_Total", "init", " shell", "  cargo", "   rustc", " other", hostile], 7, 0),
        ("&tree=parent&filter=rustc", &["init^", " shell^", "  cargo^", "   rustc"], 1, 0),
        ("&tree=parent&limit=2", &["_Total", "init^", " shell^", "  cargo^", "   rustc"], 7, 5),
        ("&tree=cgroup&limit=4", &["_Total", "rustc", "shell", "cargo"], 7, 3),
    ] {
        if rest.contains("NAME") {
            let answer = get(&server, &format!("/api/v1/table?{ALL}{rest}"), &[]);
            assert_eq!(answer.status, 404, "{}", answer.body);
            continue;
        }
        let got = table(&server, rest);
        assert_eq!(names(&got), want, "{rest}");
        assert_eq!((&got["count"], &got["more"]), (&json!(count), &json!(more)), "{rest}");
    }
    let got = table(&server, "&tree=parent&sort=name");
    let rows = got["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap().clone();
    assert_eq!((&row("cargo")["parent"], &row("cargo")["id"]), (&json!(2), &json!(3)));
    assert_eq!(row(hostile)["parent"], Value::Null, "its parent is not there");
    assert_eq!(row("rustc")["values"], json!([30.0, 4.0, 3.0]));
    assert_eq!(row("rustc")["marks"], json!({"0": "held", "1": "held", "2": "held"}));
    // Never 0 for what is unknown.
    assert_eq!(
        (&row("other")["values"][0], &row("other")["missing"]),
        (&Value::Null, &json!({"0": "denied"}))
    );
    let without = json!([{"counter": "% Processor Time", "status": "denied", "instances": 1, "of": 6}]);
    assert_eq!(got["without"], without);
    let column = json!({"name": "% Processor Time", "unit": "%", "type": "PERF_COUNTER_LARGE_RAWCOUNT",
        "range": "unbounded"});
    assert_eq!((&got["columns"][0], &got["sort"], &got["order"]), (&column, &json!("name"), &json!("asc")));
    let groups =
        json!([{"path": "/system.slice/even.service", "rows": 2}, {"path": "/user.slice", "rows": 1}]);
    assert_eq!(table(&server, "&tree=cgroup&limit=4")["groups"], groups);
}

#[test]
fn columns_are_usual_or_named_and_fail_alone() {
    let server = server(&family(), |_| {});
    let columns = |query: &str| {
        let got = get(&server, &format!("/api/v1/table?counterset=process+v2{query}"), &[]).json();
        let name = |column: &Value| column["name"].as_str().unwrap().to_owned();
        (got["columns"].as_array().unwrap().iter().map(name).collect::<Vec<_>>(), got)
    };
    // Those of the preset of this counterset that it has.
    assert_eq!(columns("").0, ["% Processor Time"]);
    assert_eq!(columns("&column=*").0, ["Process ID", "Creating Process ID", "% Processor Time"]);
    let (names, got) =
        columns("&column=Proces+ID&column=%25+Processor+Time&column=%25+processor+time&sort=process+id");
    assert_eq!(
        (names, &got["sort"]),
        (vec!["% Processor Time".into(), "Process ID".into()], &json!("Process ID"))
    );
    assert_eq!(got["errors"][0]["column"], "Proces ID");
    assert_eq!(
        (&got["errors"][0]["status"], &got["errors"][0]["hints"][0]),
        (&json!(404), &json!("nearest: Process ID, % Processor Time"),)
    );
    let many = "&column=*".repeat(40);
    for (query, status, text) in [
        ("", 400, "counterset is missing"),
        ("counterset=Proces+V2", 404, "nearest: Process V2"),
        ("counterset=Process+V2&column=x", 404, "has no counter"),
        ("counterset=Process+V2&sort=x", 404, "has no counter"),
        ("counterset=Process+V2&at=5", 400, "at, begin and end are times of a log"),
        ("counterset=Process+V2&x=5", 400, "there is no parameter"),
        ("counterset=Process+V2&limit=1001", 400, "limit is 1001, more than 1000 rows"),
        (
            "counterset=Process+V2&limit=1001",
            400,
            "this fits: /api/v1/table?counterset=Process+V2&limit=1000",
        ),
        (&format!("counterset=Process+V2{many}"), 400, "the table has 40 columns, more than 32"),
    ] {
        let answer = get(&server, &format!("/api/v1/table?{query}"), &[]);
        assert_eq!(answer.status, status, "{query}: {}", answer.body);
        assert!(answer.body.contains(text), "{query}: {}", answer.body);
        let hint = answer.json()["hints"][0].as_str().unwrap_or_default().to_owned();
        if let Some(fitting) = hint.strip_prefix("this fits: ") {
            assert_eq!(get(&server, fitting, &[]).status, 200, "{fitting}");
        }
    }
    server.provider.with(|script| script.failure = Some(SourceError::Failed("the disk is on fire".into())));
    let got = get(&server, "/api/v1/table?counterset=Process+V2&column=Process+ID", &[]).json();
    assert_eq!((&got["rows"], &got["count"]), (&json!([]), &json!(0)));
    assert!(got["nothing"]["reason"].as_str().unwrap().contains("on fire"), "{got}");
}

/// Checks that command lines, which contain secrets, are returned only with the token. Without a token, everybody on
/// this machine can read responses.
#[test]
fn command_lines_are_for_those_with_the_token() {
    for (token, has_them) in [(None, false), (Some(SECRET), true)] {
        let server = server(&family(), |options| options.token = token.map(|token| token.parse().unwrap()));
        for rest in ["&facts=1", "&facts=1&tree=parent", "&facts=1&tree=cgroup", "", "&tree=cgroup"] {
            let bearer = format!("Bearer {SECRET}");
            let answer = get(&server, &format!("/api/v1/table?{ALL}{rest}"), &[("Authorization", &bearer)]);
            assert_eq!(answer.status, 200, "{}", answer.body);
            let is_asked = rest.contains("facts");
            assert_eq!(answer.body.contains("hunter2"), has_them && is_asked, "{rest}: {}", answer.body);
            assert_eq!(answer.body.contains("command_line"), has_them && is_asked, "{rest}");
            assert!(!answer.body.contains("/opt/secret"), "{rest}");
            let rows = answer.json()["rows"].clone();
            let find = |name: &str| rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
            let facts = &find("cargo")["facts"];
            assert_eq!(facts.is_null(), !is_asked);
            if is_asked {
                assert_eq!((&facts["user"], &facts["cgroup"]), (&json!("root"), &json!("/user.slice")));
                // One that the server may not read, with its reason.
                let reason = &find("cargo")["missing"]["command_line"];
                assert_eq!(reason, &if has_them { json!("denied") } else { Value::Null });
            }
        }
    }
}

/// Checks that equal requests for a table share a collection, and that a repeated request waits for no second one.
#[test]
fn many_clients_cost_a_reading() {
    let server = Running::start(|options| options.interval = Duration::from_millis(400));
    let address = "/api/v1/table?counterset=Shop&column=Orders/sec&column=Stock";
    let before = server.collections();
    let texts: Vec<_> = std::thread::scope(|scope| {
        let ask = |n: usize| get(&server, &format!("{address}&limit={}", 1 + n % 2), &[]);
        let clients: Vec<_> = (0..20).map(|n| scope.spawn(move || ask(n))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    for text in &texts {
        assert!(text.json()["rows"][0]["values"][1].is_number(), "{}", text.body);
        assert!(text.json()["rows"][0]["missing"] == json!({}), "{}", text.body);
    }
    assert_eq!(server.collections() - before, 2, "twenty clients");
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    assert_eq!(get(&server, address, &[]).json()["rows"][0]["missing"], json!({}));
    assert_eq!(server.collections() - before, 3, "one that looks again");
    assert!(begin.elapsed() < Duration::from_millis(300), "{:?}", begin.elapsed());
}

#[test]
fn a_log_has_tables_of_any_time() {
    let recorder = Recorder::new("tables", 20);
    let server = Running::of_log(recorder.served(Window::default()), |_| {});
    for (at, stock, time) in [("", 120.0, 20_000), ("&at=7999", 107.0, 7_000), ("&at=%2B2", 103.0, 3_000)] {
        let address =
            format!("/api/v1/table?counterset=Shop&column=Stock&column=Orders/sec&sort=name&facts=1{at}");
        let got = get(&server, &address, &[]).json();
        assert_eq!(names(&got), ["milk", "tea"], "{at}");
        assert_eq!((&got["rows"][1]["values"], &got["time"]), (&json!([stock, 10.0]), &json!(time)), "{at}");
    }
    // One that is recorded less often has the time of its own collection.
    let got = get(&server, "/api/v1/table?counterset=Weather&at=18000", &[]).json();
    assert_eq!((&got["rows"][0]["values"], &got["time"]), (&json!([1_000.0]), &json!(16_000)));
    for (query, status) in
        [("counterset=Shop&at=999", 404), ("counterset=Shop&at=x", 400), ("counterset=No", 404)]
    {
        let answer = get(&server, &format!("/api/v1/table?{query}"), &[]);
        assert_eq!(answer.status, status, "{}", answer.body);
    }
}

/// Checks that a table of 10,000 processes returns a few of them in bounded time.
#[test]
fn ten_thousand_processes_take_little() {
    let row = |n: u32| {
        let name: &'static str = Box::leak(format!("process-{n}").into_boxed_str());
        (name, n, u64::from(n / 2), Ok(u64::from(n % 977)))
    };
    let server = server(&(1..=10_000).map(row).collect(), |_| {});
    let begin = Instant::now();
    for (rest, rows, count) in [
        ("", 100, 10_000),
        ("&limit=1000&facts=1", 1_000, 10_000),
        ("&filter=77&limit=1000", 280, 280),
        ("&tree=cgroup&limit=1000", 1_000, 10_000),
    ] {
        let got = table(&server, rest);
        assert_eq!((got["rows"].as_array().unwrap().len(), &got["count"]), (rows, &json!(count)), "{rest}");
    }
    let got = table(&server, "&tree=parent&limit=1000");
    assert!(got["rows"].as_array().unwrap().len() > 1_000);
    let answer = get(&server, &format!("/api/v1/table?{ALL}&limit=1000"), &[]);
    assert!(answer.body.len() < 400_000, "{} bytes", answer.body.len());
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    println!("six tables of 10,000 processes: {:?}", begin.elapsed());
}
