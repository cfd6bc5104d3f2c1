//! Parser of `/proc/PID/io`: data that a process read and wrote.
//!
//! Source: `proc_pid_io(5)`. Includes all threads of the process, also ended ones. Readable only with permission to
//! trace the process.

use crate::sources::named::{Number, numbers};
use crate::sources::text::{Text, TextError};

/// I/O counts of one process.
///
/// ```
/// use perfset_linux::sources::pid::io::Io;
///
/// let io = Io::parse(b"rchar: 2\nwchar: 3\nsyscr: 5\nsyscw: 7\n")?;
/// assert_eq!((io.wchar, io.read_bytes), (Some(Ok(3)), None));
/// # Ok::<_, perfset_linux::TextError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Io {
    /// `rchar`: number of bytes returned by calls such as `read(2)`, from files, pipes and terminals alike.
    pub rchar: Number,
    /// `wchar`: number of bytes passed to calls such as `write(2)`.
    pub wchar: Number,
    /// `syscr`: number of system calls that read, such as `read(2)`.
    pub syscr: Number,
    /// `syscw`: number of system calls that write, such as `write(2)`.
    pub syscw: Number,
    /// `read_bytes`: number of bytes that were read from block devices.
    pub read_bytes: Number,
    /// `write_bytes`: number of bytes that are to be written to block devices.
    pub write_bytes: Number,
    /// `cancelled_write_bytes`: part of `write_bytes` that is never written, because the file was truncated before.
    pub cancelled_write_bytes: Number,
}

impl Io {
    /// Parses the text of `/proc/PID/io`.
    ///
    /// # Errors
    /// If `text` contains none of the lines.
    pub fn parse(text: &[u8]) -> Result<Self, TextError> {
        let mut io = Self::default();
        let mut wanted = [
            ("rchar:", &mut io.rchar),
            ("wchar:", &mut io.wchar),
            ("syscr:", &mut io.syscr),
            ("syscw:", &mut io.syscw),
            ("read_bytes:", &mut io.read_bytes),
            ("write_bytes:", &mut io.write_bytes),
            ("cancelled_write_bytes:", &mut io.cancelled_write_bytes),
        ];
        numbers(&mut Text::new(text), Text::last_number, &mut wanted)?;
        Ok(io)
    }
}
