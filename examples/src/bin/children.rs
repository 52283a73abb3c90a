//! Trees of orchestrations: a folder waits for its folders. Every child is an instance
//! of its own, with its own history, wherever it runs.
#![expect(clippy::print_stdout, reason = "an example shows what happens")]

use durable_examples::{ExampleNode, ExampleResult};
use durable_runtime::{
    Activity, ActivityContext, Failure, Orchestration, OrchestrationContext, Registry,
};
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};

const SIZE_OF: Activity<String, u64> = Activity::new("size of");
const FOLDER: Orchestration<Folder, u64> = Orchestration::new("folder");

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Folder {
    files: Vec<String>,
    folders: Vec<Folder>,
}

async fn folder(ctx: OrchestrationContext, folder: Folder) -> Result<u64, Failure> {
    let files = folder.files.iter().map(|file| ctx.activity(SIZE_OF, file));
    let folders = folder
        .folders
        .iter()
        .map(|folder| ctx.sub_orchestration(FOLDER, folder));
    let (files, folders) = tokio::try_join!(try_join_all(files), try_join_all(folders))?;
    Ok(files.into_iter().chain(folders).sum())
}

async fn size_of(_: ActivityContext, file: String) -> Result<u64, Failure> {
    u64::try_from(file.len()).map_err(|_| Failure::application("size", "too large"))
}

fn sample() -> Folder {
    let leaf = |name: &str| Folder {
        files: vec![name.into()],
        folders: Vec::new(),
    };
    Folder {
        files: vec!["readme".into()],
        folders: vec![
            leaf("a"),
            Folder {
                files: vec!["bb".into(), "cc".into()],
                folders: vec![leaf("ddd")],
            },
        ],
    }
}

#[tokio::main]
async fn main() -> ExampleResult {
    let registry = Registry::builder()
        .orchestration(FOLDER, folder)
        .activity(SIZE_OF, size_of)
        .build()?;
    let example = ExampleNode::start(registry).await?;
    let client = example.node.client();
    let root = client.start(FOLDER, "root", &sample()).await?;
    println!("{} bytes", root.wait().await?);
    let all = client.instances("order by id").page(None, 100).await?;
    for record in all.instances {
        let parent = record.parent.map(|parent| parent.instance.to_string());
        let parent = parent.unwrap_or_else(|| "no parent".into());
        println!("{} answers {parent}", record.instance);
    }
    example.stop().await
}
