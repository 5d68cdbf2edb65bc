// The page of maps: draws the imported ones.
import { openMap } from "./base-map.js";
import { found, onPart } from "./page.js";

onPart((part) => found(part, "[data-map]").forEach((place) => openMap(place, { inAddress: true })));
