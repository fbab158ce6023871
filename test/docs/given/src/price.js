export const price = 17;
