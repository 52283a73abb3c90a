//! Lists of instances: a page, or all pages one after the other.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use durable_core::filter::{Filter, FilterError, InstanceQuery, PageToken};
use durable_core::provider::{InstancePage, InstanceRecord, StatusKind};
use futures_core::Stream;

use super::{Client, ClientError, nodes};

/// How many instances a stream reads at once.
const PAGE: usize = 200;

/// What says which instances are meant, in which order: text, a filter, a status or a query.
pub trait IntoQuery {
    /// The query, at this time of the store.
    ///
    /// # Errors
    ///
    /// [`FilterError`] if the text is no filter.
    fn into_query(self, now_ms: u64) -> Result<InstanceQuery, FilterError>;
}

impl IntoQuery for &str {
    fn into_query(self, now_ms: u64) -> Result<InstanceQuery, FilterError> {
        InstanceQuery::parse(self, now_ms)
    }
}

impl IntoQuery for &String {
    fn into_query(self, now_ms: u64) -> Result<InstanceQuery, FilterError> {
        InstanceQuery::parse(self, now_ms)
    }
}

impl IntoQuery for Filter {
    fn into_query(self, _: u64) -> Result<InstanceQuery, FilterError> {
        Ok(InstanceQuery::new(self))
    }
}

impl IntoQuery for StatusKind {
    fn into_query(self, _: u64) -> Result<InstanceQuery, FilterError> {
        Ok(InstanceQuery::new(Filter::status(self)))
    }
}

impl IntoQuery for InstanceQuery {
    fn into_query(self, _: u64) -> Result<InstanceQuery, FilterError> {
        Ok(self)
    }
}

impl IntoQuery for &InstanceQuery {
    fn into_query(self, _: u64) -> Result<InstanceQuery, FilterError> {
        Ok(self.clone())
    }
}

impl Client {
    /// The instances that a query means: read a [`page`](Instances::page) of them, or
    /// [all](Instances::stream). Without an order the newest come first.
    ///
    /// Times such as `-1h` are counted from the time of the store at this call.
    ///
    /// ```
    /// use durable_runtime::filter::Field;
    /// use durable_runtime::{Attribute, Client, ClientError, Filter, Orchestration, StatusKind};
    /// use durable_testkit::MemoryProvider;
    ///
    /// const ORDER: Orchestration<i64, String> = Orchestration::new("order");
    /// const CUSTOMER: Attribute<String> = Attribute::new("customer");
    /// const TOTAL: Attribute<i64> = Attribute::new("total");
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), ClientError> {
    /// let client = Client::new(MemoryProvider::new());
    /// for number in 1..=3 {
    ///     let order = client.start(ORDER, format!("order-{number}"), &number);
    ///     order.attribute(CUSTOMER, "c-17").attribute(TOTAL, number).await?;
    /// }
    ///
    /// let large = r#"customer = "c-17" and total >= 2 and created > -1h order by id"#;
    /// let list = client.instances(large);
    /// let page = list.page(None, 1).await?;
    /// assert_eq!(page.instances[0].instance, "order-2");
    /// let rest = list.page(page.next.as_ref(), 10).await?;
    /// assert_eq!(rest.instances[0].instance, "order-3");
    /// assert_eq!(rest.next, None);
    ///
    /// // The same without text.
    /// let large = Filter::status(StatusKind::Pending)
    ///     .and(Filter::attribute("customer", "c-17"))
    ///     .and(Field::attribute("total").at_least(2));
    /// assert_eq!(client.instances(large).all().await?.len(), 2);
    ///
    /// let error = client.instances("status = pendign").all().await.unwrap_err();
    /// assert!(error.to_string().ends_with("hint: did you mean `pending`?"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn instances(&self, query: impl IntoQuery) -> Instances {
        let query = query.into_query(self.provider().now_ms());
        Instances {
            client: self.clone(),
            query,
        }
    }
}

/// A list of instances: see [`Client::instances`].
#[derive(Clone)]
#[must_use = "a list is read page by page or as a stream"]
pub struct Instances {
    client: Client,
    query: Result<InstanceQuery, FilterError>,
}

impl Instances {
    /// A page of at most `max` instances, from the beginning or from where a page of the same
    /// query ended.
    ///
    /// A page may have fewer instances than were asked for, or none, and a next one: a store
    /// looks at a bounded number of instances for a page. The list ends with the page without a
    /// next. What is listed once, and what may be listed twice while it changes, says
    /// [`Provider::instances`](durable_core::provider::Provider::instances).
    ///
    /// A value that the codec of this client cannot read is left as it is stored. Of those
    /// that are to run and whose code none of the nodes that live has,
    /// [`blocked`](InstanceRecord::blocked) says so.
    ///
    /// # Errors
    ///
    /// [`ClientError::Filter`] if the text is no filter, [`ClientError::Provider`] if the store
    /// did not answer, or refuses the page or the order.
    pub async fn page(
        &self,
        page: Option<&PageToken>,
        max: usize,
    ) -> Result<InstancePage, ClientError> {
        let query = self.query.as_ref().map_err(Clone::clone)?;
        let mut page = self.client.provider().instances(query, page, max).await?;
        for record in &mut page.instances {
            // One record that cannot be read must not hide the others.
            let _ = self.client.codec().decode(record).await;
        }
        nodes::note_missing_code_of_list(self.client.provider(), &mut page.instances).await?;
        Ok(page)
    }

    /// The query.
    ///
    /// # Errors
    ///
    /// [`FilterError`] if the text was no filter.
    pub fn query(&self) -> Result<&InstanceQuery, FilterError> {
        self.query.as_ref().map_err(Clone::clone)
    }

    /// All of them, page by page. After an error the stream ends.
    pub fn stream(self) -> InstanceStream {
        InstanceStream {
            rest: Rest::Page(None),
            ready: Vec::new().into_iter(),
            list: self,
        }
    }

    /// All of them in memory.
    ///
    /// # Errors
    ///
    /// As [`page`](Self::page).
    pub async fn all(self) -> Result<Vec<InstanceRecord>, ClientError> {
        let mut all = Vec::new();
        let mut next: Option<PageToken> = None;
        loop {
            let page = self.page(next.as_ref(), PAGE).await?;
            all.extend(page.instances);
            next = page.next;
            if next.is_none() {
                return Ok(all);
            }
        }
    }
}

impl fmt::Debug for Instances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query = &self.query;
        f.debug_struct("Instances")
            .field("query", query)
            .finish_non_exhaustive()
    }
}

/// Instances, page by page: see [`Instances::stream`].
#[must_use = "streams do nothing unless they are polled"]
pub struct InstanceStream {
    list: Instances,
    ready: std::vec::IntoIter<InstanceRecord>,
    rest: Rest,
}

/// A page that is being read.
type ReadingPage = Pin<Box<dyn Future<Output = Result<InstancePage, ClientError>> + Send>>;

/// What follows the instances that were read.
enum Rest {
    /// The page from here on.
    Page(Option<PageToken>),
    /// That page, while it is read.
    Reading(ReadingPage),
    /// Nothing.
    End,
}

impl Stream for InstanceStream {
    type Item = Result<InstanceRecord, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(record) = self.ready.next() {
                return Poll::Ready(Some(Ok(record)));
            }
            let read = match &mut self.rest {
                Rest::End => return Poll::Ready(None),
                Rest::Page(page) => {
                    let page = page.take();
                    let list = self.list.clone();
                    let reading = async move { list.page(page.as_ref(), PAGE).await };
                    self.rest = Rest::Reading(Box::pin(reading));
                    continue;
                }
                Rest::Reading(reading) => std::task::ready!(reading.as_mut().poll(cx)),
            };
            match read {
                Ok(page) => {
                    self.ready = page.instances.into_iter();
                    self.rest = page.next.map_or(Rest::End, |next| Rest::Page(Some(next)));
                }
                Err(error) => {
                    self.rest = Rest::End;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}

impl fmt::Debug for InstanceStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceStream")
            .field("list", &self.list)
            .finish_non_exhaustive()
    }
}
