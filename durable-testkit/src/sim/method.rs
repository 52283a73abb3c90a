//! The methods of the contract, as the simulator tells them apart.

/// Makes an enum of the contract's methods.
macro_rules! methods {
    ($( async fn $method:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $answer:ty; )*) => {
        /// A method of the contract.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Method {
            $( $method, )*
        }

        impl Method {
            /// Its name, as the timeline shows it.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $( Self::$method => stringify!($method), )*
                }
            }
        }
    };
}

durable_core::provider_methods!(methods);

impl Method {
    /// Whether the same request may reach the store twice, or after its caller gave it up.
    ///
    /// Not a request that hands something out, which only its own caller can use; not one
    /// that a client takes back with another one, as a late one would never be taken back;
    /// and not one that only reads.
    pub(crate) const fn may_repeat(self) -> bool {
        match self {
            Self::heartbeat
            | Self::close_session
            | Self::commit
            | Self::release
            | Self::settle_work
            | Self::heartbeat_work
            | Self::emit
            | Self::fire_timers
            | Self::start
            | Self::send => true,
            Self::open_session | Self::fetch_instances | Self::fetch_work => false,
            Self::suspend | Self::resume | Self::purge | Self::prune => false,
            Self::sessions
            | Self::instance
            | Self::instances
            | Self::executions
            | Self::history
            | Self::inbox
            | Self::cancelled_work
            | Self::open_work
            | Self::view
            | Self::views
            | Self::stream
            | Self::streams
            | Self::poisoned
            | Self::wait => false,
        }
    }
}
