/** Request class of chats. */
export const CHAT = "chat";
/** Request class of plain completions. */
export const COMPLETION = "completion";
/** Request class of embeddings. */
export const EMBEDDING = "embedding";
