-- Why a decision is asked, as whoever decides is shown it (JSON): a yes is good against these reasons. Absent of a
-- question that gives none, and of one opened before: that is put anew when somebody says yes to it.
ALTER TABLE decisions ADD COLUMN why TEXT COLLATE "C";
