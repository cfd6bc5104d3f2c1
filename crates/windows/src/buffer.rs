//! Buffers for responses of Windows, which grow by the rules of PerfLib V2 and V1, up to a limit.

use std::time::Duration;

use perfset_core::Status;
use perfset_engine::SourceError;

use crate::functions::{FillResult, PerformanceKey};

/// Maximum size of a response of Windows in bytes: a block of this size has a million instances.
const MOST: usize = 256 << 20;
/// Maximum size of a buffer that is allocated at once if a function requests it; beyond it, the buffer grows by
/// doubling.
const BELIEVED: usize = 16 << 20;
/// Minimum size of a buffer for a response, in bytes.
const FIRST: usize = 4 << 10;
/// Minimum size of a buffer for a V1 block, because V1 does not report the size that it needs.
const FIRST_V1: usize = 64 << 10;
/// Maximum number of calls with growing buffers. The needed size may change from call to call, but hardly ten times.
/// Ten doublings reach [`MOST`] from [`BELIEVED`], and 1 MiB from [`FIRST`]: a function that requests a little more
/// each time gets no more than that.
const TRIES: u32 = 10;

/// Calls a PerfLib function until its response fits: with ERROR_NOT_ENOUGH_MEMORY it reports the size that is needed
/// now. Returns the written part of the buffer, which is stored for the next call, unless this one fails. `element`:
/// size in bytes of the units that `actual` counts.
///
/// # Errors
/// [`SourceError::System`] with the function's code, and [`SourceError::Failed`] for a response that cannot be true.
pub fn filled<'a>(
    function: &'static str,
    element: usize,
    buffer: &'a mut Vec<u8>,
    call: &mut dyn FnMut(&mut [u8]) -> FillResult,
) -> Result<&'a [u8], SourceError> {
    match written(function, element, buffer, call) {
        Ok(len) => Ok(buffer.get(..len).unwrap_or_default()),
        Err(error) => {
            *buffer = Vec::new(); // however large it became
            Err(error)
        }
    }
}

/// Returns the number of bytes that a PerfLib function wrote to the buffer, which grows until the response fits.
fn written(
    function: &'static str,
    element: usize,
    buffer: &mut Vec<u8>,
    call: &mut dyn FnMut(&mut [u8]) -> FillResult,
) -> Result<usize, SourceError> {
    // Bytes that the function does not write must not be those of an earlier response.
    buffer.fill(0);
    for _ in 0..TRIES {
        let FillResult { status, actual } = call(buffer);
        let actual = usize::try_from(actual).unwrap_or(usize::MAX).saturating_mul(element);
        match status {
            Status::ERROR_SUCCESS if actual <= buffer.len() => return Ok(actual),
            Status::ERROR_SUCCESS => {
                let len = buffer.len();
                return Err(failed(
                    function,
                    &format!("the function claims {actual} bytes in a buffer of {len}"),
                ));
            }
            Status::ERROR_NOT_ENOUGH_MEMORY => {
                let believed = actual.min(BELIEVED).max(buffer.len().saturating_mul(2)).max(FIRST);
                if actual > MOST || believed > MOST {
                    return Err(failed(
                        function,
                        &format!("the result needs {actual} bytes, more than {MOST}"),
                    ));
                }
                // Cleared first, so that growing copies nothing and all bytes are 0.
                buffer.clear();
                buffer.resize(believed.next_multiple_of(element.max(1)), 0);
            }
            status => return Err(SourceError::System { function: function.into(), status }),
        }
    }
    Err(failed(function, &format!("the size of the result changed {TRIES} times")))
}

/// Reads a value of the performance key until the response fits: ERROR_MORE_DATA does not report the size that is
/// needed. Returns the response in the given buffer, cut to its length.
///
/// A busy key is read again a little later, and a closed one is opened by the next read.
///
/// # Errors
/// Same as [`filled`].
pub fn value(key: &dyn PerformanceKey, name: &str, mut buffer: Vec<u8>) -> Result<Vec<u8>, SourceError> {
    let function = || format!("RegQueryValueEx \"{name}\"");
    // 630 ms together: a key that stays busy delays its caller no longer than that.
    let mut pauses = [0, 10, 20, 40, 80, 160, 320].into_iter().map(Duration::from_millis);
    // Bytes that the key does not write must not be those of an earlier response.
    buffer.clear();
    buffer.resize(buffer.capacity().clamp(FIRST_V1, MOST), 0);
    loop {
        let FillResult { status, actual } = key.query_value(name, &mut buffer);
        match status {
            Status::ERROR_SUCCESS => {
                let actual = usize::try_from(actual).unwrap_or(usize::MAX);
                if actual > buffer.len() {
                    let len = buffer.len();
                    return Err(failed(
                        &function(),
                        &format!("the function claims {actual} bytes in a buffer of {len}"),
                    ));
                }
                buffer.truncate(actual);
                return Ok(buffer);
            }
            Status::ERROR_MORE_DATA => {
                let more = buffer.len().saturating_mul(2);
                if more > MOST {
                    return Err(failed(&function(), &format!("the result needs more than {MOST} bytes")));
                }
                buffer.clear();
                buffer.resize(more, 0);
            }
            status if is_passing(status) => {
                let Some(pause) = pauses.next() else {
                    return Err(SourceError::System { function: function().into(), status });
                };
                if is_closed(status) {
                    key.close();
                }
                key.wait(pause);
            }
            status => return Err(SourceError::System { function: function().into(), status }),
        }
    }
}

/// Returns `true` for error codes after which the same query may succeed. Source: the codes after which .NET retries.
fn is_passing(status: Status) -> bool {
    const ERROR_NOT_READY: Status = Status(21);
    const ERROR_LOCK_FAILED: Status = Status(167);
    const ERROR_BUSY: Status = Status(170);
    const WAIT_TIMEOUT: Status = Status(258);
    [ERROR_NOT_READY, ERROR_LOCK_FAILED, ERROR_BUSY, WAIT_TIMEOUT].contains(&status) || is_closed(status)
}

/// Returns `true` for error codes that mean that a key or a query must be opened again.
pub fn is_closed(status: Status) -> bool {
    const RPC_S_CALL_FAILED: Status = Status(1726);
    [Status::ERROR_INVALID_HANDLE, Status::RPC_S_SERVER_UNAVAILABLE, RPC_S_CALL_FAILED].contains(&status)
}

fn failed(function: &str, why: &str) -> SourceError {
    SourceError::Failed(format!("{function}: {why}").into())
}
