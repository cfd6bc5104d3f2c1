//! Tests that the OpenAPI description has the server's routes, parameters, and fields of responses.

use std::collections::BTreeSet;

use perfset::Window;
use perfset_web::ServerOptions;
use serde_json::Value;

use crate::running::recorder::Recorder;
use crate::running::{Answer, Running, get};

/// Returns the differences between a JSON value and its schema; empty if there are none.
fn problems(doc: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let found = doc.pointer(name.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("no {name}"));
        return problems(doc, found, value, at);
    }
    let mut all = Vec::new();
    let of_value = match value {
        Value::Null => &["null"][..],
        Value::Bool(_) => &["boolean"],
        Value::Number(number) if number.is_f64() => &["number"],
        Value::Number(_) => &["integer", "number"],
        Value::String(_) => &["string"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
    };
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().map(|one| one.as_str().unwrap()).collect(),
        _ => of_value.to_vec(),
    };
    if !types.iter().any(|one| of_value.contains(one)) {
        all.push(format!("{at} is {value}, and not {types:?}"));
    }
    if let Some(allowed) = schema["enum"].as_array() {
        if !allowed.contains(value) {
            all.push(format!("{at} is {value}, and none of {allowed:?}"));
        }
    }
    if let Value::Array(items) = value {
        for (n, item) in items.iter().enumerate().filter(|_| schema.get("items").is_some()) {
            all.extend(problems(doc, &schema["items"], item, &format!("{at}[{n}]")));
        }
    }
    if let Value::Object(fields) = value {
        for name in schema["required"].as_array().into_iter().flatten() {
            if !fields.contains_key(name.as_str().unwrap()) {
                all.push(format!("{at} lacks {name}"));
            }
        }
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(known), _) => all.extend(problems(doc, known, field, &at)),
                (None, Value::Bool(false)) => all.push(format!("{at} is not described")),
                (None, more @ Value::Object(_)) => all.extend(problems(doc, more, field, &at)),
                (None, _) => {}
            }
        }
    }
    all
}

/// Requests of each route of the API, the first of which has all its parameters.
const REQUESTS: [(&str, &[&str]); 15] = [
    ("/about", &["?log=log-1", ""]),
    ("/countersets", &["?filter=shop&log=log-1", ""]),
    ("/countersets/{name}", &["/Shop?log=log-1"]),
    ("/find", &["?words=stock&log=log-1", "?words=stok"]),
    ("/findings", &["?at=20000&log=log-1", ""]),
    ("/login", &[""]),
    ("/logs", &[""]),
    ("/logs/{id}", &["/log-1"]),
    ("/logs/{id}/open", &[]), // the test of what is sent has it
    ("/openapi.json", &[""]),
    ("/query", &["?path=/Shop(tea)/Stock&at=20000&log=log-1", "?path=/Shop(*)/Orders/sec"]),
    (
        "/range",
        &[
            "?path=/Shop(*)/Stock&sum=1&alias=all&path=/Shop(*)/Stock&top=1&path=/No/Such&from=0&to=20000&step=5\
             &format=json&log=log-1",
            "?path=/Weather(*)/*",
        ],
    ),
    ("/report", &["?from=0&to=20000&path=/Shop(tea)/Stock&log=log-1", ""]),
    (
        "/stream",
        &["?path=/Shop(*)/Stock&top=1&path=/Shop(*)/Stock&sum=1&history=3&begin=1000&end=20000&log=log-1"],
    ),
    (
        "/table",
        &[
            "?counterset=Shop&column=Stock&column=Stok&at=20000&sort=name&order=desc&filter=t&limit=1&facts=1\
             &tree=cgroup&log=log-1",
            "?counterset=Shop",
        ],
    ),
];

#[test]
fn the_server_does_what_the_description_says() {
    let recorder = Recorder::new("openapi", 20);
    let compare = |options: &mut ServerOptions| {
        options.compare = vec![("other".to_owned(), recorder.served(Window::default()))];
    };
    let servers = [Running::of_log(recorder.served(Window::default()), compare), Running::start(compare)];
    let doc = get(&servers[0], "/api/v1/openapi.json", &[]).json();
    let described: BTreeSet<_> = doc["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(described, REQUESTS.iter().map(|(route, _)| *route).collect::<BTreeSet<_>>());
    for (route, requests) in REQUESTS.into_iter().filter(|(_, requests)| !requests.is_empty()) {
        let operation = &doc["paths"][route]["get"];
        let parameters = operation["parameters"].as_array().unwrap();
        let in_query = parameters.iter().filter(|one| one["in"] == "query");
        let names: BTreeSet<_> = in_query.map(|one| one["name"].as_str().unwrap()).collect();
        let address = |request: &str| match request.strip_prefix('/') {
            Some(name) => format!("/api/v1{}", route.replace("{name}", name).replace("{id}", name)),
            None => format!("/api/v1{route}{request}"),
        };
        // The first request names each parameter that is described, and no other.
        let first = requests[0].split_once('?').map_or("", |(_, query)| query);
        let used = first.split('&').filter_map(|part| Some(part.split_once('=')?.0));
        assert_eq!(used.collect::<BTreeSet<_>>(), names, "{route}");
        // The server lists the parameters that it knows.
        if !names.is_empty() {
            let sign = if first.is_empty() { "?" } else { "&" };
            let error = get(&servers[0], &format!("{}{sign}zzz=1", address(requests[0])), &[]).json();
            let error = error["error"].as_str().unwrap();
            let (_, known) = error.split_once("there is no parameter \"zzz\": there is ").unwrap_or_default();
            let known: BTreeSet<_> = known.split(", ").flat_map(|text| text.split(" and ")).collect();
            assert_eq!(known, names, "{route}: {error}");
        }
        for request in requests {
            for server in &servers {
                let answer = match route {
                    "/stream" => continue,
                    _ => get(server, &address(request), &[]),
                };
                if route == "/report" && answer.status == 200 {
                    let kinds = operation["responses"]["200"]["content"].as_object().unwrap();
                    let own = answer.header("content-type").split(';').next().unwrap();
                    assert_eq!(kinds.keys().collect::<Vec<_>>(), [own]);
                    continue;
                }
                let schema = match answer.status {
                    200 => &operation["responses"]["200"]["content"]["application/json"]["schema"],
                    _ => &operation["responses"]["default"]["content"]["application/json"]["schema"],
                };
                let found = problems(&doc, schema, &answer.json(), "it");
                assert_eq!(found, [""; 0], "{} {}", address(request), answer.body);
            }
            // A log has all of it.
            if route != "/stream" {
                assert_eq!(get(&servers[0], &address(request), &[]).status, 200, "{}", address(request));
            }
        }
    }
}

#[test]
fn a_wrong_response_breaks_its_schema() {
    let doc: Value = serde_json::from_str(include_str!("../../openapi.json")).unwrap();
    let schema = serde_json::json!({ "$ref": "#/components/schemas/Error" });
    for (value, want) in [
        (serde_json::json!({"error": "x", "hints": ["y"]}), &[][..]),
        (
            serde_json::json!({"hints": [1]}),
            &["it lacks \"error\"", "it.hints[0] is 1, and not [\"string\"]"],
        ),
        (serde_json::json!({"error": "x", "more": 1}), &["it.more is not described"]),
    ] {
        assert_eq!(problems(&doc, &schema, &value, "it"), want);
    }
}

#[test]
fn long_responses_are_compressed_for_clients_that_accept_it() {
    let server = Running::start(|_| {});
    let plain = get(&server, "/api/v1/openapi.json", &[]);
    assert_eq!((plain.header("content-encoding"), plain.header("vary")), ("", "Accept-Encoding"));
    let packed = get(&server, "/api/v1/openapi.json", &[("Accept-Encoding", "br, gzip")]);
    assert_eq!(packed.header("content-encoding"), "gzip");
    let len = |answer: &Answer| answer.header("content-length").parse::<usize>().unwrap();
    assert!(len(&packed) < len(&plain) / 4, "{} of {}", len(&packed), len(&plain));
    // A short one is not worth it, and one that the client refuses is not sent.
    assert_eq!(get(&server, "/api/v1/login", &[("Accept-Encoding", "gzip")]).header("content-encoding"), "");
    let refused = get(&server, "/api/v1/openapi.json", &[("Accept-Encoding", "gzip;q=0")]);
    assert_eq!(refused.header("content-encoding"), "");
}
