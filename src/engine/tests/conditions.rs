//! Conditions on what a call carries and when it comes, one by one.

use super::*;
