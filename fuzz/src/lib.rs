//! What the fuzz targets do with their input; a target itself is one line that calls it.

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
