//! A notification from a thread to a task, through the I/O driver of the task's tokio runtime.
//!
//! It is a self-pipe: a pair of sockets. Platforms other than Unix have none.

#[cfg(unix)]
mod imp {
    use std::io;
    use std::os::unix::net::UnixDatagram;

    /// The end that the thread notifies.
    #[derive(Debug)]
    pub(crate) struct FdNotifier(UnixDatagram);

    /// The end of the task, before the task runs.
    #[derive(Debug)]
    pub(crate) struct UnregisteredListener(UnixDatagram);

    /// The end of the task, registered with its runtime.
    #[derive(Debug)]
    pub(crate) struct FdListener(tokio::net::UnixDatagram);

    pub(crate) fn notify_fd() -> io::Result<(FdNotifier, UnregisteredListener)> {
        let (notifier, listener) = UnixDatagram::pair()?;
        notifier.set_nonblocking(true)?;
        listener.set_nonblocking(true)?;
        Ok((FdNotifier(notifier), UnregisteredListener(listener)))
    }

    impl FdNotifier {
        /// Notifies the task. If the socket is full, a notification is still to be received.
        pub(crate) fn notify(&self) {
            let _ = self.0.send(&[0]);
        }
    }

    impl UnregisteredListener {
        /// Registers with the I/O driver of the task that calls.
        ///
        /// # Panics
        ///
        /// If the tokio runtime was built without I/O.
        pub(crate) fn register(self) -> io::Result<FdListener> {
            tokio::net::UnixDatagram::from_std(self.0).map(FdListener)
        }
    }

    impl FdListener {
        /// Waits for a notification since the last one that was received.
        pub(crate) async fn notified(&self) -> io::Result<()> {
            self.0.recv(&mut [0]).await.map(drop)
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    /// There is none on this platform.
    #[derive(Debug)]
    pub(crate) enum FdNotifier {}

    /// There is none on this platform.
    #[derive(Debug)]
    pub(crate) enum UnregisteredListener {}

    /// There is none on this platform.
    #[derive(Debug)]
    pub(crate) enum FdListener {}

    pub(crate) fn notify_fd() -> io::Result<(FdNotifier, UnregisteredListener)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    impl FdNotifier {
        pub(crate) fn notify(&self) {
            match *self {}
        }
    }

    impl UnregisteredListener {
        pub(crate) fn register(self) -> io::Result<FdListener> {
            match self {}
        }
    }

    impl FdListener {
        pub(crate) async fn notified(&self) -> io::Result<()> {
            match *self {}
        }
    }
}

pub(super) use imp::{FdNotifier, UnregisteredListener, notify_fd};
