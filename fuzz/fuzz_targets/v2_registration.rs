#![no_main]

use libfuzzer_sys::fuzz_target;
use perfset_core::v2::BlockFormat;

fuzz_target!(|bytes: &[u8]| perfset_fuzz::blocks::check(BlockFormat::Registration, bytes));
