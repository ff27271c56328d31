-- The content of a node that is so long that its row would be built in memory several times: written here in pieces, as the same
-- JSON; `content_json` is empty then. The last column, since only what stands behind all others need not be there when the row is made.
ALTER TABLE nodes ADD COLUMN long_content BLOB;
