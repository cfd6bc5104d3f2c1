//! Tests that the examples of the documentation have the fields of the server's responses.

use std::collections::BTreeMap;
use std::sync::Arc;

use perfset::Window;
use perfset::log::Logs;
use perfset_web::UploadOptions;
use serde_json::Value;

use crate::running::recorder::Recorder;
use crate::running::{Running, get};

/// Documented routes, each with the request of the shop's server that stands for the route's example. The counters of
/// the shop are always there.
const ASKED: [(&str, &str); 12] = [
    ("/api/v1/query?path=/Memory/Availabl+Bytes", "/api/v1/query?path=/Shop(tea)/Stok"),
    ("/api/v1/about", "/api/v1/about"),
    ("/api/v1/login", "/api/v1/login"),
    ("/api/v1/logs", "/api/v1/logs"),
    ("/api/v1/countersets?filter=", "/api/v1/countersets?filter=shop"),
    ("/api/v1/countersets/", "/api/v1/countersets/Shop"),
    ("/api/v1/find?words=", "/api/v1/find?words=stock"),
    ("/api/v1/findings", "/api/v1/findings"),
    ("/api/v1/query?path=/Pressure", "/api/v1/query?path=/Shop(tea)/Stock"),
    ("/api/v1/range?", "/api/v1/range?path=/Shop(tea)/Stock&alias=queue&from=%2B5&step=5"),
    ("/api/v1/table?", "/api/v1/table?counterset=Shop&column=Stock"),
    ("/api/v1/stream?", "path=/Shop(tea)/Stock&history=9"),
];

/// Returns the names and types in a JSON value, whatever the values; null may be of any type.
fn shape(value: &Value) -> String {
    match value {
        Value::Null => "_".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Array(items) => format!("[{}]", items.first().map(shape).unwrap_or_default()),
        Value::Object(fields) => {
            let fields: BTreeMap<_, _> = fields.iter().map(|(name, value)| (name, shape(value))).collect();
            let nulls = ["base", "bytes", "instance_id", "raw", "key", "subject"];
            let of = |(name, shape): (&&String, &String)| match nulls.contains(&name.as_str()) {
                true => format!("{name}: _"),
                false => format!("{name}: {shape}"),
            };
            format!("{{{}}}", fields.iter().map(of).collect::<Vec<_>>().join(", "))
        }
    }
}

#[test]
fn examples_have_the_fields_of_the_answers() {
    let text = include_str!("../../../../docs/web-api.md");
    let recorder = Recorder::new("documents", 20);
    let server = Running::start(|options| {
        options.compare = vec![("other".to_owned(), recorder.served(Window::default()))];
        let parse = |_: &Logs, text: &str| Err(text.to_owned());
        options.uploads = Some(UploadOptions::new(64_000_000, Vec::new(), Arc::new(parse)));
    });
    let of_log = Running::of_log(recorder.served(Window::default()), |_| {});
    let mut compared = Vec::new();
    for example in text.split("```console\n").skip(1) {
        let (command, answer) = example.split_once("```").unwrap().0.split_once('\n').unwrap();
        let target = command.split_once("http://127.0.0.1:9182").unwrap().1.trim_end_matches('\'');
        let (known, asked) = ASKED.iter().find(|(known, _)| target.starts_with(known)).unwrap();
        compared.push(*known);
        if *known == "/api/v1/stream?" {
            let mut first = server.stream("path=/Shop(tea)/Stock", &[]);
            first.samples(2);
            let mut stream = server.stream(asked, &[]);
            for event in answer.split("\n\n") {
                let name = event.trim().lines().next().unwrap().strip_prefix("event: ").unwrap();
                let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
                let shown: Value = serde_json::from_str(data).unwrap();
                assert_eq!(shape(&shown), shape(&stream.event(name)), "{name}");
            }
            continue;
        }
        let shown: Value =
            serde_json::from_str(answer.trim()).unwrap_or_else(|error| panic!("{command}: {error}"));
        let source = if *known == "/api/v1/range?" { &of_log } else { &server };
        let mut got = get(source, asked, &[]).json();
        if *known == "/api/v1/about" {
            got["overview"] = shown["overview"].clone(); // the shop's machine has nothing of an overview
        }
        if *known == "/api/v1/findings" {
            got["findings"] = shown["findings"].clone(); // compared in the test of the findings
        }
        assert_eq!(shape(&shown), shape(&got), "{command}");
    }
    compared.sort_unstable();
    compared.dedup();
    assert_eq!(compared.len(), ASKED.len(), "every route has an example: {compared:?}");
}
