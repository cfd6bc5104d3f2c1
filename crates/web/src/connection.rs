//! TCP connection that ends if the client does not read, and does not lose its last response at its end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// TCP connection that fails if a write waits for too long because the client is gone or does not read.
#[derive(Debug)]
pub struct TimeoutStream {
    stream: TokioIo<TcpStream>,
    patience: Duration,
    /// Time limit of the write to the client that waits; `None` if no write waits.
    deadline: Option<Pin<Box<Sleep>>>,
    /// State of discarding the client's remaining bytes, after the server closed its side of the connection.
    drain: Option<Drain>,
}

/// State of discarding the client's remaining bytes, after the server closed its side of the connection.
///
/// A socket that is closed while bytes are unread resets its connection. The other end then loses a response that it
/// has not read yet: a refusal would not arrive.
#[derive(Debug)]
struct Drain {
    deadline: Pin<Box<Sleep>>,
    /// Number of bytes that the client may still send after the server closed its side.
    left: usize,
}

impl Drain {
    /// Maximum time for the client to close its side; the next constant is the maximum number of bytes that it may
    /// send meanwhile.
    const TIME: Duration = Duration::from_secs(1);
    const LEN_MOST: usize = 1 << 20;
}

impl TimeoutStream {
    /// Creates a connection whose writes wait for the client for at most `patience`.
    pub fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream: TokioIo::new(stream), patience, deadline: None, drain: None }
    }

    /// Sends a last response if nothing was sent on this connection before, and closes it.
    pub async fn refuse(&mut self, answer: &str) {
        // The response fits into the kernel's buffer of a connection on which nothing was sent.
        let _ = self.stream.inner().try_write(answer.as_bytes());
        self.end().await;
    }

    /// Closes the connection so that the client receives everything that was sent.
    pub async fn end(&mut self) {
        // An error means that the other end is gone.
        let _ = std::future::poll_fn(|context| Pin::new(&mut *self).poll_shutdown(context)).await;
    }

    /// Reads and discards all bytes until the client closes its side, within the limits of a [`Drain`].
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self { stream, drain, .. } = self;
        let drain = drain
            .get_or_insert_with(|| Drain { deadline: Box::pin(sleep(Drain::TIME)), left: Drain::LEN_MOST });
        // Discarded, so the buffer need not be large.
        let mut bytes = [0; 4096];
        while drain.left > 0 && drain.deadline.as_mut().poll(context).is_pending() {
            let mut buffer = ReadBuf::new(&mut bytes);
            match ready!(Pin::new(&mut *stream).poll_read(context, buffer.unfilled())) {
                Ok(()) if !buffer.filled().is_empty() => {
                    drain.left = drain.left.saturating_sub(buffer.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(())
    }

    /// Returns the result of a write to the client, or an error if the write has waited longer than the patience.
    fn in_time<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.deadline = None;
            return done;
        }
        let patience = self.patience;
        // Created only when a write waits, which is rare.
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        match deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Read for TimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for TimeoutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.in_time(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // The write side is closed once; later calls only continue to read.
        if self.drain.is_none() {
            let done = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.in_time(context, done))?;
        }
        self.poll_drain(context).map(Ok)
    }
}
