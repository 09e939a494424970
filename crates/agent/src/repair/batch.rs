//! Several reads in one call: run one after the other, answered as one.

use crate::{Access, AnyCall, Description, ToolContent, ToolContext, ToolError, ToolOutput, ToolResult};
use async_trait::async_trait;
use system::AbsPath;

/// The reads of one call; at least one.
pub(crate) struct BatchedReads(pub(crate) Vec<Box<dyn AnyCall>>);

#[async_trait]
impl AnyCall for BatchedReads {
    fn paths(&mut self) -> Vec<&mut String> {
        self.0.iter_mut().flat_map(|call| call.paths()).collect()
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let mut descriptions = self.0.iter().map(|call| call.describe(cwd));
        let mut all = descriptions.next().expect("several are at least one");
        for Description { title, locations, .. } in descriptions {
            all.title.push_str(", ");
            all.title.push_str(&title);
            all.locations.extend(locations);
        }
        all
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        self.0.iter().flat_map(|call| call.accesses(cwd)).collect()
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        let mut shown = Vec::new();
        for call in &mut self.0 {
            shown.extend(call.prepare(cx).await?);
        }
        Ok(shown)
    }

    /// Returns the results in order, each under the title of its read. Fails only if all of them
    /// fail.
    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut all = ToolOutput { result: ToolResult::error(String::new()), ..ToolOutput::default() };
        for call in &mut self.0 {
            let title = call.describe(&cx.cwd).title;
            let ToolResult { text, images, is_error } = match call.run(cx).await {
                Ok(output) => {
                    all.events.extend(output.events);
                    output.result
                }
                Err(error @ ToolError::Cancelled(_)) => return Err(error),
                Err(error) => ToolResult::error(error.to_string()),
            };
            if !all.result.text.is_empty() {
                all.result.text.push_str("\n\n");
            }
            all.result.text.push_str(&format!("{title}:\n{text}"));
            all.result.images.extend(images);
            all.result.is_error &= is_error;
        }
        Ok(all)
    }
}
