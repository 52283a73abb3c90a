//! Faults of receipts.

use std::sync::Arc;

use durable_core::MessageId;
use durable_core::provider::{
    CommitOutcome, OutgoingMessage, Provider, ProviderError, ReceiptRequest, SendOutcome,
    TurnCommit,
};

use super::{change, fault};

type Answer = Result<CommitOutcome, ProviderError>;

fault! {
    /// Drops a message without a word to its sender.
    SwallowsReceipts {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| {
            turn.new_messages.iter_mut().for_each(|sent| sent.receipt = None);
        });
        self.store.commit(turn).await
    }
}

fault! {
    /// Tells senders of deliveries that they did not ask for.
    TellsOfEveryDelivery {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| {
            let receipts = turn.new_messages.iter_mut().filter_map(|sent| sent.receipt.as_mut());
            receipts.for_each(|receipt| *receipt = ReceiptRequest::always(receipt.source));
        });
        self.store.commit(turn).await
    }
}

fault! {
    /// Tells the sender again when a commit is repeated.
    TellsAgain {}
    async fn commit(&self, turn: Arc<TurnCommit>) -> Answer {
        let answer = self.store.commit(Arc::clone(&turn)).await;
        if matches!(answer, Ok(CommitOutcome::AlreadyDone(_))) {
            for sent in &turn.new_messages {
                let receipt = sent.receipt.and_then(|receipt| {
                    receipt.message(&sent.target, SendOutcome::UnknownInstance)
                });
                if let Some(mut receipt) = receipt {
                    receipt.message_id = MessageId::from("receipt-again");
                    let sender = turn.lease.instance.clone();
                    let _ = self.store.send(OutgoingMessage::new(sender, receipt)).await;
                }
            }
        }
        answer
    }
}

fault! {
    /// Tells the sender that the receiver has ended, and wakes the receiver all the same.
    WakesEndedReceivers {}
    async fn commit(&self, mut turn: Arc<TurnCommit>) -> Answer {
        change(&mut turn, |turn| {
            let mut plain = turn.new_messages.clone();
            plain.iter_mut().for_each(|sent| sent.receipt = None);
            turn.new_messages.extend(plain);
        });
        self.store.commit(turn).await
    }
}

fault! {
    /// Takes a receipt for a message of a client.
    TakesReceiptsOfClients {}
    async fn send(&self, message: OutgoingMessage) -> Result<SendOutcome, ProviderError> {
        let plain = OutgoingMessage::new(message.target, message.message);
        self.store.send(plain).await
    }
}
