/**
 * Tells zod not to make code at run time, which the page's policy refuses. It tries while a schema
 * is made, so this comes before the rules of shared/schema.
 */

import { z } from "zod";

z.config({ jitless: true });
