//! `/proc/PID/io`: what a process read and wrote.
//!
//! Source: `proc_pid_io(5)`. Its own threads, those that ended included. Only for who may trace the process.

use crate::sources::named::{Number, numbers};
use crate::sources::text::{Text, TextError};

/// The lines.
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
    /// `rchar`: bytes that calls such as `read(2)` gave, from files, pipes and terminals alike.
    pub rchar: Number,
    /// `wchar`: bytes that calls such as `write(2)` took.
    pub wchar: Number,
    /// `syscr`: such calls that read.
    pub syscr: Number,
    /// `syscw`: such calls that write.
    pub syscw: Number,
    /// `read_bytes`: bytes that came from block devices.
    pub read_bytes: Number,
    /// `write_bytes`: bytes that are to go to block devices.
    pub write_bytes: Number,
    /// `cancelled_write_bytes`: bytes of those that will not, because their file was cut before.
    pub cancelled_write_bytes: Number,
}

impl Io {
    /// Takes everything from `text`.
    ///
    /// # Errors
    /// If it has none of the lines.
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
