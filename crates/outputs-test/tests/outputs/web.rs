//! Check of the streams of the page: live samples, and history for clients that connect later.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use perfset_web::stepped::Stepped;
use serde_json::Value;

use crate::check::{Check, Due, Found, Number, Tally};
use crate::play::Play;
use crate::world::{Want, World};

/// Names of the series that the stream announced, by series number.
type Names = HashMap<u64, String>;

pub fn check(world: &Arc<World>) -> Result<Tally, String> {
    let mut server = Stepped::new(Play::new(world).machine(), Duration::from_secs(1)).expect("it begins");
    let query = everything(world);
    let mut reader = server.join(&query, None).expect("it is asked well");
    let mut check = Check::new(world, "page stream").expect(0..world.steps.len(), true, false, &name);
    let mut names = Names::new();
    for step in 0..world.steps.len() {
        server.sample();
        for (set, about) in world.sets.iter().enumerate() {
            if let Some(status) = world.failure(step, set) {
                let want = Want { value: Err(status), raw: None, base: None, mark: None };
                let due = Due { want, id: None, birth: 0, has_base: false, base: None, events: Vec::new() };
                check.must((step, format!("nothing of {}", about.name)), due);
            }
        }
        for (event, data) in events(&reader.read()) {
            match event.as_str() {
                "series" => learn(&data, &mut names),
                "sample" => sample(world, &data, &names, &mut check),
                other => panic!("seed {}: {other}", world.seed),
            }
        }
    }
    let mut tally = check.finish()?;
    tally.add(&history(world, &mut server, &query)?);
    Ok(tally)
}

/// Returns a query string that requests all values of a generated machine.
fn everything(world: &World) -> String {
    let of = |set: &crate::world::Set| match set.is_single {
        true => format!("path=/{}/*", set.name),
        false => format!("path=/{}(*)/*", set.name),
    };
    world.sets.iter().map(of).collect::<Vec<_>>().join("&")
}

/// Returns the name of a series by counterset, instance and counter. The number among instances of the same name may
/// change during the life of the series, so it is left out.
fn name(set: &str, instance: &str, _: usize, counter: &str) -> String {
    format!("{set}|{instance}|{counter}")
}

/// Parses the events of a stream into kinds and data.
fn events(text: &str) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for event in text.split_terminator("\n\n").filter(|event| !event.starts_with(':')) {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
        let data = field("data: ").expect("data");
        all.push((field("event: ").expect("a kind").to_owned(), serde_json::from_str(data).expect("JSON")));
    }
    all
}

fn learn(data: &Value, names: &mut Names) {
    for series in data["series"].as_array().expect("series") {
        let text = |name: &str| series[name].as_str().expect("a text");
        let called = name(text("counterset"), text("instance"), 0, text("counter"));
        let before = names.insert(series["id"].as_u64().expect("an id"), called.clone());
        assert!(before.is_none_or(|before| before == called), "a number means the same for ever");
    }
}

fn sample(world: &World, data: &Value, names: &Names, check: &mut Check<'_>) {
    let step = world.step_at(data["time"].as_i64().expect("a time"));
    let (ids, values) = (data["ids"].as_array().expect("ids"), data["values"].as_array().expect("values"));
    assert_eq!(ids.len(), values.len());
    for (id, value) in ids.iter().zip(values) {
        let id = id.as_u64().expect("an id");
        let missing = data["missing"][id.to_string()].as_str();
        let found = Found {
            value: Some(value.as_f64().map(Number::full)),
            status: Some(missing.unwrap_or("ok").to_owned()),
            series: Some(id),
            ..Found::default()
        };
        check.found((step, names.get(&id).expect("a reader was told").clone()), found);
    }
    for nothing in data["nothing"].as_array().into_iter().flatten() {
        let set = &world.sets[nothing["ask"].as_u64().expect("an ask") as usize];
        let status = nothing["status"].as_str().expect("a status").to_owned();
        let found = Found { value: Some(None), status: Some(status), ..Found::default() };
        check.found((step, format!("nothing of {}", set.name)), found);
    }
}

/// Checks the history that a client of the page receives after the last step.
fn history(world: &World, server: &mut Stepped, query: &str) -> Result<Tally, String> {
    let mut check = Check::new(world, "page history").expect(0..world.steps.len(), true, false, &name);
    check.retain(|_, due| due.want.value.is_ok());
    // Half of them ask for the same under other paths, each counter by its name.
    let last = world.steps.len() - 1;
    let by_name = |set: &crate::world::Set| -> Vec<String> {
        let instances = if set.is_single { "" } else { "(*)" };
        let shown = set.at(last).filter(|(_, column)| !column.kind.is_base());
        let name = |name: &str| name.replace('%', "%25").replace(' ', "+");
        shown.map(|(_, column)| format!("path=/{}{instances}/{}", set.name, name(column.name))).collect()
    };
    let other = world.sets.iter().flat_map(by_name).collect::<Vec<_>>().join("&");
    let query = if world.seed % 2 == 1 { other.as_str() } else { query };
    let mut reader = server.join(&format!("{query}&history=3600"), None).expect("it is asked well");
    let mut names = Names::new();
    for (event, data) in events(&reader.read()) {
        match event.as_str() {
            "series" => learn(&data, &mut names),
            "history" => {
                let list = |name: &str| data[name].as_array().expect("a list");
                for (id, values) in list("ids").iter().zip(list("values")) {
                    let id = id.as_u64().expect("an id");
                    let values = values.as_array().expect("values");
                    assert_eq!(values.len(), list("times").len());
                    for (time, value) in list("times").iter().zip(values) {
                        let Some(value) = value.as_f64() else { continue };
                        let step = world.step_at(time.as_i64().expect("a time"));
                        // Seven digits are kept.
                        let number = Number { value, within: value.abs() * 1e-6 + 1e-12 };
                        let found = Found { series: Some(id), ..Found::number(Some(number)) };
                        check.found((step, names.get(&id).expect("a reader was told").clone()), found);
                    }
                }
            }
            other => panic!("seed {}: {other}", world.seed),
        }
    }
    check.finish()
}
