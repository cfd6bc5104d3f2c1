//! Action of a log writer for a file that exists already.

/// Action of a log writer if its output file already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keep the file and fail.
    Refuse,
    /// Replace the file once the new one is complete.
    Replace,
    /// Append another log set to the file. Known counters keep their ids.
    Append,
}
