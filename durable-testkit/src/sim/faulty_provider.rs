//! The way from a node or a client to the store: a provider through which every
//! call may go wrong.
//!
//! It is made from the one list of the contract's methods, so that a new method goes wrong
//! like all others. It keeps nothing of its own: what it says of the store the store said.

use std::sync::Arc;

use async_trait::async_trait;
use durable_core::provider::Provider;

use super::argument::{LendArgument, OwnedArgument};
use super::call::SimCall;
use super::describe::Describe;
use super::method::Method;
use super::node_life::NodeLife;
use super::world::World;

/// The way of one life to the store.
pub(crate) struct FaultyProvider {
    pub(crate) world: Arc<World>,
    pub(crate) life: Arc<NodeLife>,
    /// The life's own handle on the store.
    pub(crate) store: Arc<dyn Provider>,
}

/// Makes of every method a call whose arguments are kept, so that the request can be sent
/// as often as the plan wants.
macro_rules! faulty {
    ($( async fn $method:ident(&self $(, $argument:ident: $type:ty)* $(,)?) -> $answer:ty; )*) => {
        #[async_trait]
        impl Provider for FaultyProvider {
            fn now_ms(&self) -> u64 {
                self.store.now_ms()
            }

            $(
                async fn $method(&self $(, $argument: $type)*) -> $answer {
                    $( let $argument = $argument.owned(); )*
                    let request: Vec<String> = vec![$( $argument.describe() ),*];
                    let request = request.join(" ");
                    let call = SimCall::new(Method::$method, request, move |store| {
                        $( let $argument = $argument.clone(); )*
                        Box::pin(async move { store.$method($( $argument.lend() ),*).await })
                    });
                    self.call(call).await
                }
            )*
        }
    };
}

durable_core::provider_methods!(faulty);
