//! Forms that bring files along (RFC 7578).

use crate::domain::Malformed;
use crate::http::{self, Problem};
use crate::web::form::Fields;
use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::error::PayloadError;
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpRequest, web};
use futures_util::{StreamExt, stream};

/// The media type of such a form, without its parameters.
const FORM: &str = "multipart/form-data";
/// The most fields of one form.
const MOST_FIELDS: usize = 64;

/// Whether a form is written this way.
pub(super) fn is_one(request: &HttpRequest) -> bool {
    request.content_type() == FORM
}

/// The fields of a form of at most `most_bytes`, and its files.
pub(super) async fn fields(
    request: &HttpRequest,
    payload: &mut web::Payload,
    most_bytes: usize,
) -> Result<Fields, Problem> {
    let body = http::bytes_up_to(request, payload, most_bytes).await?.freeze();
    let mut form = Multipart::new(request.headers(), stream::iter([Ok::<Bytes, PayloadError>(body)]));
    let (mut fields, mut files) = (Vec::new(), Vec::new());
    while let Some(field) = form.next().await {
        let mut field = field.map_err(|error| unreadable(&error))?;
        if fields.len() + files.len() == MOST_FIELDS {
            let detail = format!("the form has more than {MOST_FIELDS} fields");
            return Err(Problem::unreadable(Malformed::whole(detail)));
        }
        let bytes = bytes(&mut field).await?;
        let name = field.name().unwrap_or_default().to_owned();
        let is_file = field.content_disposition().is_some_and(|found| found.get_filename().is_some());
        if is_file {
            files.push((name, bytes));
        } else {
            let text = String::from_utf8(bytes)
                .map_err(|_| Problem::unreadable(Malformed::whole("a field of the form is not UTF-8")))?;
            fields.push((name, text));
        }
    }
    Ok(Fields::with_files(fields, files))
}

async fn bytes(field: &mut Field) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    while let Some(chunk) = field.next().await {
        bytes.extend_from_slice(&chunk.map_err(|error| unreadable(&error))?);
    }
    Ok(bytes)
}

fn unreadable(error: &MultipartError) -> Problem {
    Problem::unreadable(Malformed::whole(format!("the form is not written as a browser writes one: {error}")))
}
