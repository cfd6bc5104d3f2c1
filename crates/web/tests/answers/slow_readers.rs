//! Tests of streams that no client reads: they hold a bounded amount of memory, and end before those that are read.

use std::time::Duration;

use perfset_web::stepped::{StepReader, Stepped};

use crate::running::shop;

const MIB: usize = 1 << 20;
const SLOW: &str =
    "event: end\ndata: {\"error\":\"the reader is too slow: events were lost from here on\"}\n\n";

/// Returns a sampler of instances with long names, which has taken a sample of them.
fn sampler() -> Stepped {
    let (machine, provider) = shop();
    let name =
        "an instance with a name that is as long as names of control groups of containers are ".repeat(8);
    let name: &'static str = name.leak();
    let rows = (0..250_u32).map(|id| (name, id, vec![Ok(1), Ok(2)]));
    provider.with(|script| script.rows = rows.collect());
    Stepped::new(machine, Duration::from_secs(3600)).unwrap()
}

/// Begins streams that differ, so that they share no events; fewer if the server takes no more.
fn different(sampler: &mut Stepped, numbers: std::ops::Range<u32>) -> Vec<StepReader> {
    let query = |n| format!("path=/Shop(*)/Stock&path=/Shop(*)/Stock&top={n}");
    numbers.map_while(|n| sampler.join(&query(n), None).ok()).collect()
}

#[test]
fn the_events_that_wait_have_a_bound_and_readers_that_read_go_on() {
    let mut sampler = sampler();
    let mut awake = sampler.join("path=/Shop(*)/Stock", None).unwrap();
    drop(awake.read());
    let mut asleep = different(&mut sampler, 1..129);
    for round in 0..8 {
        sampler.sample();
        assert!(sampler.unread() <= 41 * MIB, "{} MiB wait in round {round}", sampler.unread() / MIB);
        assert!(awake.read().contains("event: sample\n"), "round {round}");
    }
    assert!(sampler.unread() > 20 * MIB, "only {} MiB wait", sampler.unread() / MIB);
    let read: Vec<_> = asleep.iter_mut().map(StepReader::read).collect();
    let ended = read.iter().filter(|text| *text == SLOW).count();
    assert!((1..128).contains(&ended), "{ended} are ended");
    assert!(read.iter().all(|text| text == SLOW || !text.contains("event: end")));
    assert_eq!(sampler.unread(), 0);
}

/// Checks that the events of one request are in memory once, for any number of readers.
#[test]
fn readers_of_one_request_share_its_events() {
    let mut sampler = sampler();
    let mut one = sampler.join("path=/Shop(*)/Stock", None).unwrap();
    sampler.sample();
    let alone = sampler.unread();
    drop(one.read());
    let readers: Vec<_> = (0..200).map(|_| sampler.join("path=/Shop(*)/Stock", None).unwrap()).collect();
    sampler.sample();
    assert!(sampler.unread() < 2 * alone, "{} bytes, {alone} for one", sampler.unread());
    drop(readers);
    drop(one);
    sampler.sample(); // the next readers are not told what those were
    assert_eq!(sampler.unread(), 0);
}

/// Checks that the slowest reader of a stream is cut off first, and one that is a single event behind stays.
#[test]
fn the_slowest_reader_is_cut_off_first() {
    let mut sampler = sampler();
    let mut one = different(&mut sampler, 1..2);
    sampler.sample();
    let fit = u32::try_from(31 * MIB / sampler.unread()).unwrap();
    let mut slowest = different(&mut sampler, 2..fit - 2);
    (0..3).for_each(|_| sampler.sample());
    let mut slow = different(&mut sampler, fit..fit + 128);
    assert!((1..128).contains(&slow.len()), "{} begin until too much waits", slow.len());
    sampler.sample();
    slowest.append(&mut one);
    let ended = |readers: &mut [StepReader]| {
        readers.iter_mut().filter_map(|reader| Some(reader.read() == SLOW).filter(|is| *is)).count()
    };
    assert_eq!(ended(&mut slow), 0, "one that is less behind is cut off");
    assert!((1..slowest.len()).contains(&ended(&mut slowest)));
}

/// Checks that many counter paths for the same instances end a stream with a reason, instead of taking unlimited
/// memory.
#[test]
fn many_paths_for_the_same_instances_end_with_a_reason() {
    let error = "the descriptions of the series of these paths take more than 8 MiB";
    let query = vec!["path=/Shop(*)/Stock"; 64].join("&");
    let mut sampler = sampler();
    let mut stream = sampler.join(&query, None).unwrap();
    drop(stream.read());
    sampler.sample();
    assert_eq!(stream.read(), format!("event: end\ndata: {{\"error\":\"{error}\"}}\n\n"));
    // Of what is known already this is said at once.
    let mut one = sampler.join("path=/Shop(*)/Stock", None).unwrap();
    sampler.sample();
    assert!(one.read().contains("event: sample\n"));
    let refused = sampler.join(&query, None).unwrap_err().to_string();
    assert!(refused.contains(error) && refused.contains("ask for fewer paths"), "{refused}");
    assert_eq!(sampler.unread(), 0);
}

/// Checks that a sample ends in bounded time, however many expensive requests come before it. Streams that were there
/// before go on.
#[test]
fn a_sample_ends_however_much_is_asked() {
    const MANY: u32 = 200;
    const TOO_MUCH: &str =
        "event: end\ndata: {\"error\":\"more is asked for than one interval is enough for: ";
    let (machine, provider) = shop();
    let rows = (0..1_000_u32).map(|id| ("busy", id, vec![Ok(1), Ok(2)]));
    provider.with(|script| script.rows = rows.collect());
    let mut sampler = Stepped::new(machine, Duration::from_millis(200)).unwrap();
    let mut first = sampler.join("path=/Shop(*)/Stock", None).unwrap();
    sampler.sample();
    let ranked = "path=/Shop(*)/Stock&top=1000&".repeat(63);
    let others: Vec<_> = (1..=MANY)
        .map_while(|n| sampler.join(&format!("{ranked}path=/Shop(*)/Stock&top={n}"), None).ok())
        .collect();
    assert_eq!(others.len() as u32, MANY, "what they take is not known before the next sample");
    sampler.sample();
    let ended = |text: &String| text.contains(TOO_MUCH);
    let ends: Vec<_> = others.into_iter().map(|mut reader| ended(&reader.read())).collect();
    assert!(ends[MANY as usize / 2..].iter().all(|ended| *ended), "{ends:?}");
    assert!(ends.is_sorted(), "those that came last end");
    assert!(!ended(&first.read()));
    // Ended streams take no time any more, and new clients are accepted again.
    sampler.sample();
    sampler.sample();
    assert!(first.read().contains("event: sample\n"));
}
