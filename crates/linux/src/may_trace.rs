//! Whether the kernel lets this thread see what it shows of a process to few.

/// Whether this thread may see what of that process only its owner and the privileged may, such as what it has read and
/// written, by all rules of the kernel and its security modules.
///
/// Source: `get_robust_list(2)`, which asks for the same right (`PTRACE_MODE_READ`) as reading `/proc/PID/io` and costs
/// a twentieth. Opening that file takes besides that it is this user's, or `CAP_DAC_READ_SEARCH`.
pub(crate) fn may_trace(pid: u32) -> bool {
    let Ok(pid) = libc::c_int::try_from(pid) else { return false };
    let mut list = std::ptr::null_mut::<libc::c_void>();
    let mut len: libc::size_t = 0;
    // SAFETY: both are places for what the call writes, an address that is not used and a length, and it keeps neither.
    #[expect(unsafe_code, reason = "no crate of ours in use has this call")]
    let failed = unsafe { libc::syscall(libc::SYS_get_robust_list, pid, &raw mut list, &raw mut len) };
    failed == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_as_the_file() {
        assert!(may_trace(std::process::id()));
        for pid in [0x7FFF_FFFF, u32::MAX] {
            assert!(!may_trace(pid), "{pid}");
        }
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
                continue;
            };
            let may = may_trace(pid);
            let read = std::fs::read(entry.path().join("io"));
            if read.as_ref().is_err_and(|error| error.kind() != std::io::ErrorKind::PermissionDenied) {
                continue; // it has ended
            }
            assert_eq!(may, read.is_ok(), "{pid}");
        }
    }
}
