#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| perfset_fuzz::recordings::check_segment(bytes));
