//! Parser of `/proc/net/rpc/nfs`: packets and calls that the NFS client sent.
//!
//! Source: `rpc_proc_show` of the kernel; the procedures are those of RFC 1813 and of the kernel's `nfs4.h`.

use crate::sources::text::{Text, TextError};

/// Procedures of NFS version 3, in the kernel's order, which is that of the protocol.
pub const OPERATIONS_V3: [&str; 22] = [
    "NULL",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "READ",
    "WRITE",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "LINK",
    "READDIR",
    "READDIRPLUS",
    "FSSTAT",
    "FSINFO",
    "PATHCONF",
    "COMMIT",
];

/// Procedures of NFS version 4, in the kernel's order. Later procedures have other indexes in other kernels.
pub const OPERATIONS_V4: [&str; 35] = [
    "NULL",
    "READ",
    "WRITE",
    "COMMIT",
    "OPEN",
    "OPEN_CONFIRM",
    "OPEN_NOATTR",
    "OPEN_DOWNGRADE",
    "CLOSE",
    "SETATTR",
    "FSINFO",
    "RENEW",
    "SETCLIENTID",
    "SETCLIENTID_CONFIRM",
    "LOCK",
    "LOCKT",
    "LOCKU",
    "ACCESS",
    "GETATTR",
    "LOOKUP",
    "LOOKUP_ROOT",
    "REMOVE",
    "RENAME",
    "LINK",
    "SYMLINK",
    "CREATE",
    "PATHCONF",
    "STATFS",
    "READLINK",
    "READDIR",
    "SERVER_CAPS",
    "DELEGRETURN",
    "GETACL",
    "SETACL",
    "FS_LOCATIONS",
];

/// Counts of the NFS client, parsed from `/proc/net/rpc/nfs`. The kernel counts them in 32 bits.
///
/// ```
/// use perfset_linux::sources::nfs_client::NfsClient;
///
/// let mut nfs = NfsClient::default();
/// nfs.parse(b"net 7 2 5 1\nrpc 11 3 13\nproc4 2 17 19\n").unwrap();
/// assert_eq!((nfs.rpc, nfs.proc4.as_slice()), ([11, 3, 13], &[17, 19][..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NfsClient {
    /// Numbers of NFS packets, of those over UDP and over TCP, and of TCP connections.
    pub net: [u64; 4],
    /// Numbers of RPC calls, of calls that were sent again, and of renewals of credentials.
    pub rpc: [u64; 3],
    /// Number of calls of each procedure of NFS version 3; empty if the kernel has no such line.
    pub proc3: Vec<u64>,
    /// Number of calls of each procedure of NFS version 4; empty if the kernel has no such line.
    pub proc4: Vec<u64>,
}

impl NfsClient {
    /// Maximum number of procedures of an NFS version, far more than there are.
    const MOST: u64 = 256;

    /// Parses `/proc/net/rpc/nfs`, replacing all previous contents.
    ///
    /// # Errors
    /// If one of the first two lines is missing, or a number is malformed.
    pub fn parse(&mut self, text: &[u8]) -> Result<(), TextError> {
        let mut text = Text::new(text);
        self.proc3.clear();
        self.proc4.clear();
        self.net = line(&mut text, b"net")?;
        self.rpc = line(&mut text, b"rpc")?;
        while !text.is_at_end() {
            match text.word()? {
                b"proc3" => procedures(&mut text, &mut self.proc3)?,
                b"proc4" => procedures(&mut text, &mut self.proc4)?,
                _ => drop(text.line()?),
            }
        }
        Ok(())
    }
}

fn line<const N: usize>(text: &mut Text<'_>, name: &'static [u8]) -> Result<[u64; N], TextError> {
    let before = *text;
    if text.word()? != name {
        return Err(before.expected("the lines net and rpc"));
    }
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = text.number()?;
    }
    text.line()?; // newer kernels may append more
    Ok(numbers)
}

fn procedures(text: &mut Text<'_>, into: &mut Vec<u64>) -> Result<(), TextError> {
    let before = *text;
    let count = text.number()?;
    if count > NfsClient::MOST {
        return Err(before.expected("a number of procedures"));
    }
    for _ in 0..count {
        into.push(text.number()?);
    }
    text.end_of_line()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let mut nfs = NfsClient::default();
        let text = "net 2 3 5 7\nrpc 11 13 17\nproc2 2 1 1\nproc3 3 19 23 29\nproc4 1 31\n";
        nfs.parse(text.as_bytes()).unwrap();
        let want =
            NfsClient { net: [2, 3, 5, 7], rpc: [11, 13, 17], proc3: vec![19, 23, 29], proc4: vec![31] };
        assert_eq!(nfs, want);
        nfs.parse(b"net 2 3 5 7 9\nrpc 11 13 17\n").unwrap();
        assert_eq!(nfs, NfsClient { proc3: Vec::new(), proc4: Vec::new(), ..want });
    }

    #[test]
    fn invalid_texts() {
        for (text, want) in [
            ("", "line 1: expected a word, found the end of the file"),
            ("rpc 1 2 3\n", "line 1: expected the lines net and rpc, found \"rpc\""),
            ("net 1 2 3\n", "line 1: expected a number, found the end of the line"),
            ("net 1 2 3 4\n", "line 2: expected a word, found the end of the file"),
            ("net 1 2 3 4\nrpc 1 2 3\nproc3 2 1\n", "line 3: expected a number, found the end of the line"),
            ("net 1 2 3 4\nrpc 1 2 3\nproc3 1 1 1\n", "line 3: expected the end of the line, found \"1\""),
            (
                "net 1 2 3 4\nrpc 1 2 3\nproc4 257 1\n",
                "line 3: expected a number of procedures, found \" 257 1\\n\"",
            ),
        ] {
            assert_eq!(
                NfsClient::default().parse(text.as_bytes()).unwrap_err().to_string(),
                want,
                "{text:?}"
            );
        }
    }
}
