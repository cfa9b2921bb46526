//! What a form sent, field by field; a name may come several times, as ticked boxes do.

/// The fields of one form, in the order they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    fields: Vec<(String, String)>,
    /// Files, by the name of their field; they need not be text.
    files: Vec<(String, Vec<u8>)>,
}

impl Fields {
    /// The fields as they were decoded.
    pub const fn new(fields: Vec<(String, String)>) -> Self {
        Self { fields, files: Vec::new() }
    }

    /// The same with files.
    pub const fn with_files(fields: Vec<(String, String)>, files: Vec<(String, Vec<u8>)>) -> Self {
        Self { fields, files }
    }

    /// The first file that was chosen in a field; one that holds nothing was not.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        let mut files = self.files.iter().filter(|(field, bytes)| field == name && !bytes.is_empty());
        files.next().map(|(_, bytes)| bytes.as_slice())
    }

    /// A field that must be there once.
    ///
    /// # Errors
    /// That it is missing or comes twice.
    pub fn one<'a>(&'a self, name: &'a str) -> Result<&'a str, String> {
        let mut values = self.all(name);
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (Some(_), Some(_)) => Err(format!("the form sent `{name}` twice")),
            (None, _) => Err(format!("the form did not send `{name}`")),
        }
    }

    /// A field that may be left empty or out.
    ///
    /// # Errors
    /// That it comes twice.
    pub fn optional<'a>(&'a self, name: &'a str) -> Result<Option<&'a str>, String> {
        if self.all(name).next().is_none() {
            return Ok(None);
        }
        Ok(Some(self.one(name)?.trim()).filter(|value| !value.is_empty()))
    }

    /// Every value of a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.fields.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(sent: &[(&str, &str)]) -> Fields {
        Fields::new(sent.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_single_field_is_neither_missing_nor_sent_twice() {
        let sent = fields(&[("csrf", "a"), ("scope", "x"), ("scope", "y"), ("reason", "  ")]);
        assert_eq!(sent.one("csrf"), Ok("a"));
        assert_eq!(sent.one("input_hash"), Err("the form did not send `input_hash`".to_owned()));
        assert_eq!(sent.one("scope"), Err("the form sent `scope` twice".to_owned()));
        assert_eq!(sent.all("scope").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(sent.optional("reason"), Ok(None));
        assert_eq!(sent.optional("narrow"), Ok(None));
        assert!(sent.optional("scope").is_err());
    }
}
