use std::borrow::Cow;
use std::sync::Arc;

use perfset_catalogue as catalogue;
use perfset_core::{Counter, CounterId, CounterType, Counterset, Guid, InstanceType};
use proptest::prelude::*;

use super::words::{Occurrence, SearchedWord, words};
use super::*;

const QUERIES: &str = include_str!("../../../../../testdata/find/queries.tsv");

/// Returns every built-in counterset.
fn built_in() -> Vec<Arc<Counterset>> {
    catalogue::ALL.iter().map(|set| Arc::new((*set).clone())).collect()
}

/// Returns a counterset with these counters: name and help text of each.
fn counterset(number: u128, name: &str, counters: &[(&str, &str)]) -> Arc<Counterset> {
    let mut set = Counterset::unnamed(Guid::from_u128(number), InstanceType::Single);
    set.name = Cow::Owned(name.to_owned());
    let counters = (0..).zip(counters).map(|(id, (name, help))| {
        let mut counter = Counter::new(CounterId(id), CounterType::PERF_COUNTER_RAWCOUNT);
        counter.name = Some(Cow::Owned((*name).to_owned()));
        counter.help = Cow::Owned((*help).to_owned());
        counter
    });
    set.counters = counters.collect();
    Arc::new(set)
}

fn names(found: &SearchResult) -> Vec<String> {
    found.matches.iter().map(|one| one.counter().unwrap().shown_name().into_owned()).collect()
}

#[test]
fn first_hits_are_right() {
    let sets = built_in();
    let (mut count, mut wrong) = (0, 0);
    for line in QUERIES.lines().skip(2) {
        let mut fields = line.split('\t');
        let (query, origin) = (fields.next().unwrap(), fields.next().unwrap());
        let right: Vec<_> = fields.next().unwrap().split(" | ").collect();
        let found = find(&sets, query);
        let first = found.matches.iter().find(|found| !found.is_never_there());
        let first =
            first.map(|one| format!("{}\\{}", one.counterset.name, one.counter().unwrap().shown_name()));
        count += 1;
        if !first.as_deref().is_some_and(|first| right.contains(&first)) {
            wrong += 1;
            let first = first.as_deref().unwrap_or("nothing");
            println!("{origin}: {query}: {first} instead of {}", right.join(" or "));
        }
    }
    println!("{} of {count} first hits are right", count - wrong);
    assert_eq!(count, 150);
    assert!(wrong <= 15, "{wrong} first hits are wrong");
}

#[test]
fn texts_are_split_into_words() {
    for (text, want) in [
        ("% I/O Wait Time", vec!["I/O", "Wait", "Time"]),
        ("Avg. Disk sec/Read", vec!["Avg", "Disk", "sec", "Read"]),
        ("cswch/s", vec!["cswch", "sec"]),
        ("s/s", vec!["s/s"]),
        ("node_load1", vec!["node", "load1"]),
        ("  %% -- ", vec![]),
        ("Größe\u{301}n 内存", vec!["Größe", "n", "内存"]),
    ] {
        assert_eq!(words(text).collect::<Vec<_>>(), want, "{text}");
    }
}

#[test]
fn words_occur_at_starts_of_words_and_parts() {
    use Occurrence::{Beginning, Inflected, Whole};
    for (searched, word, want) in [
        ("disk", "Disk", Some(Whole)),
        ("disks", "Disk", Some(Inflected)),
        ("disk", "Disks", Some(Inflected)),
        ("process", "Processes", Some(Inflected)),
        ("dis", "Disk", Some(Beginning)),
        ("isk", "Disk", None),
        ("free", "SwapFree", Some(Whole)),
        ("apfree", "SwapFree", None),
        ("syn", "TcpExtTCPSynRetrans", Some(Whole)),
        ("synretrans", "TcpExtTCPSynRetrans", Some(Whole)),
        ("bytes", "KBytes", Some(Whole)),
        ("io", "I/O", Some(Whole)),
        ("i/o", "io", Some(Whole)),
        ("o", "I/O", None),
        ("ÄPFEL", "äpfelbaum", Some(Beginning)),
        ("存", "内存使用", Some(Whole)),
        // Its lower-case form has two characters, of which the query has only the first.
        ("i", "İ", None),
        ("", "word", None),
    ] {
        assert_eq!(SearchedWord::new(searched).occurs_in(word), want, "{searched} in {word}");
    }
}

#[test]
fn names_come_before_search_words_and_help_texts() {
    let sets = [
        counterset(
            1,
            "Shop",
            &[("Ended Orders", ""), ("Visits", "Visits that led to orders."), ("Orders", "")],
        ),
        counterset(2, "Orders", &[("Failures", "")]),
    ];
    assert_eq!(names(&find(&sets, "orders")), ["Orders", "Failures", "Ended Orders", "Visits"]);
    assert_eq!(names(&find(&sets, "ORDERS shop")), ["Orders", "Ended Orders", "Visits"]);
    assert_eq!(
        names(&find(&sets, "shop orders")),
        ["Orders", "Ended Orders", "Visits"],
        "name and counterset"
    );
    let rates = [counterset(3, "Shop", &[("Lost Orders/sec", ""), ("Orders/sec", ""), ("Orders", "")])];
    assert_eq!(names(&find(&rates, "orders/s")), ["Orders/sec", "Lost Orders/sec"]);
    assert_eq!(names(&find(&rates, "order")), ["Orders", "Orders/sec", "Lost Orders/sec"]);
    assert_eq!(names(&find(&sets, "led visits")), ["Visits"]);
    assert_eq!(names(&find(&sets, r"\Shop\Visits")), ["Visits"]);
    assert_eq!(names(&find(&sets, "/shop/visits")), ["Visits"]);
}

#[test]
fn built_in_countersets_have_no_precedence_over_others() {
    let mut sets = built_in();
    sets.push(counterset(3, "Shop", &[("Checkout Latency", "Time to a response."), ("iowait", "")]));
    let first = |query| find(&sets, query).matches.first().map(CounterMatch::path);
    assert_eq!(first("iowait").as_deref(), Some(r"\Shop\iowait"));
    assert_eq!(first("checkout").as_deref(), Some(r"\Shop\Checkout Latency"));
    assert_eq!(first("shop latency").as_deref(), Some(r"\Shop\Checkout Latency"));
    let found = find(&sets, "latency");
    assert!(found.matches.iter().any(|one| one.path() == r"\Shop\Checkout Latency"));
}

#[test]
fn a_query_without_a_full_match_finds_what_has_most_of_it() {
    let sets =
        [counterset(1, "Shop", &[("Orders", "Bought things."), ("Visits", ""), ("Failed Orders", "")])];
    let found = find(&sets, "failed orders visits of");
    assert_eq!((names(&found), found.words.len()), (vec!["Failed Orders".to_owned()], 3));
    assert_eq!(found.matches[0].words, ["failed", "orders"]);
    assert!(names(&find(&sets, "failed bought visits")).is_empty(), "a third of the words is too little");
    assert_eq!(names(&find(&sets, "of")), [""; 0], "an ignored word alone is searched");
}

#[test]
fn unknown_words_have_the_nearest_ones() {
    let sets = built_in();
    for (query, want) in [
        ("latncy", vec![("latncy", vec!["latency"])]),
        ("memroy", vec![("memroy", vec!["memory"])]),
        ("disk thruoghput", vec![("thruoghput", vec!["throughput"])]),
        ("xyzzyplugh", vec![("xyzzyplugh", vec![])]),
        ("%%", vec![("%%", vec![])]),
    ] {
        let found = find(&sets, query);
        let unknown: Vec<_> = found
            .unknown
            .iter()
            .map(|one| (&*one.word, one.nearest.iter().map(String::as_str).collect::<Vec<_>>()))
            .collect();
        assert_eq!((unknown, found.matches.len()), (want, 0), "{query}");
    }
}

#[test]
fn an_empty_query_matches_everything_in_the_order_of_names() {
    let sets = [counterset(1, "b", &[("z", ""), ("a", "")]), counterset(2, "A", &[("c", "")])];
    assert_eq!(names(&find(&sets, " ")), ["c", "z", "a"]);
}

#[test]
fn hostile_queries_end_soon() {
    let sets = built_in();
    let many: String = (0..100_000).map(|n| format!("{n:x} ")).collect();
    for query in [
        "x".repeat(1_000_000),
        many,
        "\u{1b}[2J\0\u{202e}".repeat(1000),
        "/s".repeat(10_000),
        "İ".repeat(1000),
    ] {
        let found = find(&sets, &query);
        assert!(found.words.len() <= WORDS_MAX && found.matches.len() < 2000);
    }
}

/// Returns a strategy for countersets with names and help texts as other programs might give them.
fn any_countersets() -> impl Strategy<Value = Vec<Arc<Counterset>>> {
    let text =
        || prop_oneof!["[a-cA-C /%.'0-2s]{1,9}", "\\PC{1,6}", any::<String>().prop_map(|s| format!("x{s}"))];
    let counter = (text(), text());
    let set = (text(), proptest::collection::vec(counter, 1..5));
    proptest::collection::vec(set, 1..4).prop_map(|sets| {
        let set = |(number, (name, counters)): (u128, (String, Vec<(String, String)>))| {
            let counters: Vec<_> = counters.iter().map(|(name, help)| (&**name, &**help)).collect();
            counterset(number, &name, &counters)
        };
        (1..).zip(sets).map(set).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_name_of_a_counter_finds_it_first(sets in any_countersets(), pick in any::<prop::sample::Index>()) {
        let all: Vec<_> = sets.iter().flat_map(|set| set.counters.iter()).collect();
        let name = all[pick.index(all.len())].shown_name();
        let found = find(&sets, &name);
        if name.trim().is_empty() {
            prop_assert_eq!(found.matches.len(), all.len());
        } else {
            let first = found.matches.first().map(|one| one.counter().unwrap().shown_name().to_lowercase());
            let first = first.map(|name| name.trim().to_owned());
            prop_assert_eq!(first, Some(name.to_lowercase().trim().to_owned()));
        }
    }

    #[test]
    fn the_order_does_not_depend_on_the_input(sets in any_countersets(), query in "[a-c %/s]{0,8}") {
        let paths = |sets: &[Arc<Counterset>]| {
            let found = find(sets, &query);
            found.matches.iter().map(|one| (one.counterset.guid, one.path())).collect::<Vec<_>>()
        };
        let mut other = sets.clone();
        other.reverse();
        prop_assert_eq!(paths(&sets), paths(&other));
    }

    #[test]
    fn any_text_is_a_query(sets in any_countersets(), query in any::<String>()) {
        let found = find(&sets, &query);
        prop_assert!(found.matches.is_empty() || found.unknown.is_empty());
        for one in &found.matches {
            prop_assert!(one.counter().is_some() && one.words.iter().all(|word| found.words.contains(word)));
        }
    }
}
