//! libFuzzer with the target that the environment names; without a name it prints all names.
#![no_main]

use std::env::var;
use std::process::exit;
use std::sync::OnceLock;

use fuzz_test::TARGETS;
use libfuzzer_sys::fuzz_target;

/// Environment variable with the target's name.
const VARIABLE: &str = "PERFSET_FUZZ_TARGET";

static CHOSEN: OnceLock<fn(&[u8])> = OnceLock::new();

/// Returns the chosen target; ends the program if there is none.
fn choose() -> fn(&[u8]) {
    let Ok(name) = var(VARIABLE) else {
        TARGETS.iter().for_each(|(name, _)| println!("{name}"));
        exit(0);
    };
    match TARGETS.iter().find(|(other, _)| *other == name) {
        Some((_, check)) => *check,
        None => {
            eprintln!(
                "{VARIABLE} is {name:?}, and there is no such target; without {VARIABLE} this program lists them"
            );
            exit(2);
        }
    }
}

fuzz_target!(init: { CHOSEN.get_or_init(choose); }, |input: &[u8]| CHOSEN.get_or_init(choose)(input));
