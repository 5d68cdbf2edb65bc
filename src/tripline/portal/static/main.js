// Scripts of every page. Each module looks for what it serves by data attributes; a page works without them to read and
// to send simple forms. Texts come from the page, in its language.
import "./copying.js";
import "./dialogs.js";
import "./files.js";
import "./keeper.js";
import "./live.js";
import "./network.js";
import "./searching.js";
import "./tables.js";
import "./tabs.js";
import "./times.js";
