//! The fuzz targets: functions that take any bytes, listed by name in [`TARGETS`].
//!
//! They are one program, because linking one for each of them takes longer than a short run of all.

pub mod input;
pub mod btf;
pub mod blocks;
pub mod built;
pub mod v1;
pub mod logs;
pub mod c;
pub mod patterns;
pub mod counter_path;
pub mod export;
pub mod raw_counter;
pub mod kernel_text;
pub mod log_records;
pub mod log_text;
pub mod manifest;
pub mod shm;
pub mod recordings;
pub mod web_query;
pub mod windows_functions;

use perfset_core::v2::BlockFormat;

/// Fuzz target: its name, which is also the name of its directory in `corpus/`, and its code.
pub type Target = (&'static str, fn(&[u8]));

/// All fuzz targets, sorted by name.
pub const TARGETS: &[Target] = &[
    ("btf", btf::check),
    ("c_identifiers", c::check),
    ("counter_path", counter_path::check),
    ("engine_pattern", patterns::check),
    ("export_label", export::export_label),
    ("linux_text", kernel_text::check),
    ("log_blg", logs::check_blg),
    ("log_records", log_records::check),
    ("log_source", logs::check_source),
    ("log_text", log_text::check),
    ("manifest", manifest::check),
    ("query_file", export::query_file),
    ("raw_counter", raw_counter::check),
    ("recording_blocks", recordings::check_blocks),
    ("recording_folder", recordings::check_folder),
    ("recording_segment", recordings::check_segment),
    ("recording_stream", recordings::check_stream),
    ("recording_ticks", recordings::check_ticks),
    ("shm_answer", shm::check_answer),
    ("shm_definition", shm::check_definition),
    ("shm_file", shm::check_file),
    ("shm_mutated", shm::check_mutated),
    ("shm_request", shm::check_request),
    ("v1_block", v1::check_block),
    ("v1_mutated", v1::built::check),
    ("v1_names", v1::names::check),
    ("v2_data", blocks::check_data),
    ("v2_identifiers", |bytes| blocks::check(BlockFormat::Identifiers, bytes)),
    ("v2_identities", |bytes| blocks::check(BlockFormat::Identities, bytes)),
    ("v2_instances", |bytes| blocks::check(BlockFormat::Instances, bytes)),
    ("v2_mutated", built::check),
    ("v2_registration", |bytes| blocks::check(BlockFormat::Registration, bytes)),
    ("v2_strings", |bytes| blocks::check(BlockFormat::Strings, bytes)),
    ("v2_template", blocks::check_template),
    ("web_query", web_query::check),
    ("windows_functions", windows_functions::check),
];
