//! Action of a log writer for a file that exists already.

/// Action of a log writer if its output file already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Keep the existing file and fail.
    Refuse,
    /// Replace the existing file once the new file is complete.
    Replace,
    /// Append another log set to the existing file. Known counters keep their ids.
    Append,
}
