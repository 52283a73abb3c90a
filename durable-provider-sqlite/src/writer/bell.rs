//! A bell that a thread rings and a task hears through the I/O of its tokio runtime.

#[cfg(unix)]
mod imp {
    use std::io;
    use std::os::unix::net::UnixDatagram;

    /// The end that is rung.
    #[derive(Debug)]
    pub(crate) struct Bell(UnixDatagram);

    /// The end that hears it.
    #[derive(Debug)]
    pub(crate) struct Ear(UnixDatagram);

    /// An ear that listens.
    #[derive(Debug)]
    pub(crate) struct Listening(tokio::net::UnixDatagram);

    pub(crate) fn bell() -> io::Result<(Bell, Ear)> {
        let (bell, ear) = UnixDatagram::pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        Ok((Bell(bell), Ear(ear)))
    }

    impl Bell {
        /// Rings. A bell that was rung so often that nothing more fits is still to be heard.
        pub(crate) fn ring(&self) {
            let _ = self.0.send(&[0]);
        }
    }

    impl Ear {
        /// Begins to listen, in a task.
        ///
        /// # Panics
        ///
        /// If its tokio runtime has no I/O.
        pub(crate) fn listen(self) -> io::Result<Listening> {
            tokio::net::UnixDatagram::from_std(self.0).map(Listening)
        }
    }

    impl Listening {
        /// Waits until the bell was rung, at least once since the last time.
        pub(crate) async fn hear(&self) -> io::Result<()> {
            self.0.recv(&mut [0]).await.map(drop)
        }
    }
}

#[cfg(not(unix))]
mod imp {
    use std::io;

    /// There is none here.
    #[derive(Debug)]
    pub(crate) enum Bell {}

    /// There is none here.
    #[derive(Debug)]
    pub(crate) enum Ear {}

    /// There is none here.
    #[derive(Debug)]
    pub(crate) enum Listening {}

    pub(crate) fn bell() -> io::Result<(Bell, Ear)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    impl Bell {
        pub(crate) fn ring(&self) {
            match *self {}
        }
    }

    impl Ear {
        pub(crate) fn listen(self) -> io::Result<Listening> {
            match self {}
        }
    }

    impl Listening {
        pub(crate) async fn hear(&self) -> io::Result<()> {
            match *self {}
        }
    }
}

pub(super) use imp::{Bell, Ear, bell};
