#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| perfset_fuzz::log_records::check(input));
