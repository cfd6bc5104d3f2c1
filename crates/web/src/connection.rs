//! A connection whose other end must go on reading, and which ends without losing its last answer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A connection that fails when nothing could be written for too long: its other end is gone, or does not read.
#[derive(Debug)]
pub struct Patient {
    stream: TokioIo<TcpStream>,
    patience: Duration,
    /// While a write waits.
    deadline: Option<Pin<Box<Sleep>>>,
    /// After this side of the connection was closed.
    drain: Option<Drain>,
}

/// What remains to be read of a connection on which nothing is sent any more.
///
/// A socket that is closed while something is unread resets its connection, and the other end loses the answer that it
/// has not read yet: a refusal would not arrive.
#[derive(Debug)]
struct Drain {
    deadline: Pin<Box<Sleep>>,
    /// Bytes that may still come.
    left: usize,
}

impl Drain {
    /// Maximum time for the other end to close its side, and maximum number of bytes that it may send meanwhile.
    const TIME: Duration = Duration::from_secs(1);
    const LEN_MOST: usize = 1 << 20;
}

impl Patient {
    /// A connection that waits so long for its reader.
    pub fn new(stream: TcpStream, patience: Duration) -> Self {
        Self { stream: TokioIo::new(stream), patience, deadline: None, drain: None }
    }

    /// Sends a last answer, if nothing was sent on this connection before, and ends it.
    pub async fn refuse(&mut self, answer: &str) {
        // It fits into what the kernel keeps for a connection on which nothing was sent.
        let _ = self.stream.inner().try_write(answer.as_bytes());
        self.end().await;
    }

    /// Ends the connection so that its other end gets all that was sent.
    pub async fn end(&mut self) {
        // An error is that the other end is gone.
        let _ = std::future::poll_fn(|context| Pin::new(&mut *self).poll_shutdown(context)).await;
    }

    /// Reads and forgets what comes until the other end closes its side, as long and as much as a [`Drain`] may take.
    fn poll_drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Self { stream, drain, .. } = self;
        let drain = drain
            .get_or_insert_with(|| Drain { deadline: Box::pin(sleep(Drain::TIME)), left: Drain::LEN_MOST });
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

    /// What a write gave, unless it waited for too long.
    fn in_time<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.deadline = None;
            return done;
        }
        let patience = self.patience;
        let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
        match deadline.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl Read for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Patient {
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
        if self.drain.is_none() {
            let done = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.in_time(context, done))?;
        }
        self.poll_drain(context).map(Ok)
    }
}
