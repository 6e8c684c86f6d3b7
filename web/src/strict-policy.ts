import { config } from 'zod';

// The page's policy forbids making code from text. zod would try it, and the browser would report the attempt. This has to run before any
// schema is made, so it is the first import of the page.
config({ jitless: true });
